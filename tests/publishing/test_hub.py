"""`zoo push`, against a stand-in for the hub on loopback."""

import base64
import json
import re
from pathlib import Path

import huggingface_hub
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from zoo.backbones.weights import DESCRIPTION
from zoo.cli import main
from zoo.errors import ZooError
from zoo.publishing.card import CARD
from zoo.publishing.hub import describe_upload, push

REPO = "me/bound"
WEIGHTS = b"\x00weights" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "bound"
    made.mkdir()
    (made / CARD).write_text("---\nlicense: mit\n---\n# bound\n")
    (made / DESCRIPTION).write_text(json.dumps({"recipe": ["/home/me/captions.tsv"]}))
    (made / "open_clip_model.safetensors").write_bytes(WEIGHTS)
    (made / ".cache").mkdir()
    (made / ".cache" / "left").write_text("by a download")
    return made


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_made")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)


class Hub:
    """What a hub answers, and what it was given.

    Attributes:
        asked: The method and path of every request, in order.
        files: What the repository holds after the commit.
        tokens: Who asked about the repository.
        refusing: What is answered to a request whose path holds such a part.
    """

    def __init__(
        self,
        server: HTTPServer,
        there: bool = True,
        refusing: dict[str, Response] | None = None,
    ) -> None:
        self.refusing = refusing or {}
        self.asked: list[str] = []
        self.files: dict[str, bytes] = {}
        self.tokens: set[str | None] = set()
        self.there, self.url = there, server.url_for("").rstrip("/")
        self._stored: dict[str, bytes] = {}
        for path in ("/api", f"/{REPO}.git", "/stored"):
            server.expect_request(re.compile(f"{path}/.*")).respond_with_handler(self.answer)

    def answer(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.path}")
        if REPO in request.path:
            self.tokens.add(request.headers.get("Authorization"))
        for part, refusal in self.refusing.items():
            if part in request.path:
                return refusal
        if request.path.startswith("/stored"):
            self._stored[request.path.rpartition("/")[2]] = request.get_data()
            return Response(status=200)
        if request.path == "/api/repos/create":
            self.there = True
            return _said({"url": f"{self.url}/{REPO}", "name": REPO})
        if not self.there:
            return Response(status=404, headers={"X-Error-Code": "RepoNotFound"})
        if request.path.endswith("/validate-yaml"):
            return _said({"errors": [], "warnings": []})
        if "/preupload/" in request.path:
            return _said({"files": [self._mode(f["path"]) for f in request.get_json()["files"]]})
        if request.path.endswith("/info/lfs/objects/batch"):
            return _said({"objects": [self._place(o) for o in request.get_json()["objects"]]})
        if "/commit/" in request.path:
            self._commit(request.get_data(as_text=True))
            there = f"{self.url}/{REPO}/commit/abc"
            return _said({"commitUrl": there, "commitOid": "abc", "success": True})
        return _said({"id": REPO, "sha": "abc", "siblings": []})

    def _mode(self, path: str) -> dict[str, object]:
        mode = "lfs" if path.endswith(".safetensors") else "regular"
        return {"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": None}

    def _place(self, asked: dict[str, object]) -> dict[str, object]:
        return {**asked, "actions": {"upload": {"href": f"{self.url}/stored/{asked['oid']}"}}}

    def _commit(self, lines: str) -> None:
        for line in map(json.loads, lines.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.files[value["path"]] = self._stored[value["oid"]]


def _said(content: object) -> Response:
    return Response(json.dumps(content), content_type="application/json")


def test_a_push_says_what_it_uploads_and_uploads_it_in_one_commit(
    folder: Path,
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hub = Hub(httpserver)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.url)
    assert main(["push", str(folder), REPO]) == 0
    own = [CARD, DESCRIPTION, "open_clip_model.safetensors"]
    assert hub.files == {name: (folder / name).read_bytes() for name in own}
    assert hub.tokens == {"Bearer hf_made"}
    assert sum("/commit/" in asked for asked in hub.asked) == 1
    *listed, commit = capsys.readouterr().out.splitlines()
    assert commit == f"{hub.url}/{REPO}/commit/abc"
    assert listed == [f"{folder}, to {REPO}:", *describe_upload(folder)]


def test_what_is_uploaded_is_listed_with_sizes_and_with_paths_of_this_machine(
    folder: Path,
) -> None:
    assert describe_upload(folder) == [
        "  README.md  0.0 kB",
        "  open_clip_model.safetensors  0.8 kB",
        "  zoo.json  0.0 kB",
        "  paths of this machine in zoo.json: 1, such as /home/me/captions.tsv",
        "  3 files, 0.9 kB",
    ]


def test_a_dry_run_asks_no_hub(
    folder: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(httpserver)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.url)
    assert main(["push", str(folder), REPO, "--dry_run"]) == 0
    assert hub.asked == []


def test_a_repository_is_made_where_that_is_asked(folder: Path, httpserver: HTTPServer) -> None:
    hub = Hub(httpserver, there=False)
    push(folder, REPO, create=True, private=True, endpoint=hub.url)
    assert hub.asked[0] == "POST /api/repos/create"
    assert CARD in hub.files
    made = next(request for request, _ in httpserver.log if request.path == "/api/repos/create")
    told = made.get_json()
    assert (told["name"], told.get("private", told.get("visibility"))) == ("bound", "private")


@pytest.mark.parametrize("create", [False, True])
def test_nothing_is_uploaded_to_a_public_repository_where_a_private_one_is_asked(
    create: bool, folder: Path, httpserver: HTTPServer
) -> None:
    public = _said({"id": REPO, "sha": "abc", "siblings": [], "private": False})
    hub = Hub(httpserver, refusing={f"/api/models/{REPO}": public})
    with pytest.raises(ZooError, match="me/bound exists and is public, so nothing was uploaded"):
        push(folder, REPO, create=create, private=True, endpoint=hub.url)
    assert hub.files == {}


def test_a_repository_that_is_not_there_is_named_with_what_makes_it(
    folder: Path, httpserver: HTTPServer
) -> None:
    hub = Hub(httpserver, there=False)
    with pytest.raises(ZooError, match=f"has no repository {REPO}.*create it with --create"):
        push(folder, REPO, endpoint=hub.url)
    assert hub.files == {}


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "the token is not valid: run `hf auth login`"),
        (403, "the token has no write access"),
        (500, "try again later"),
    ],
)
def test_a_refusal_is_told_with_its_mend(
    status: int, says: str, folder: Path, httpserver: HTTPServer
) -> None:
    httpserver.expect_request(f"/api/models/{REPO}").respond_with_response(
        Response(status=status, headers={"X-Error-Message": "not you"})
    )
    with pytest.raises(ZooError, match=rf"{REPO} was not uploaded \(.*not you.*\): {says}"):
        push(folder, REPO, endpoint=httpserver.url_for("").rstrip("/"))


def test_a_hub_that_does_not_answer_is_named(folder: Path) -> None:
    nobody = "http://127.0.0.1:9"
    with pytest.raises(ZooError, match=rf"{nobody} does not answer \(.*\): check the network"):
        push(folder, REPO, endpoint=nobody)


def test_without_a_token_nothing_is_asked(
    folder: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(httpserver)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(
        ZooError, match="no token for the Hugging Face hub was found: run `hf auth login`"
    ):
        push(folder, REPO, endpoint=hub.url)
    assert hub.asked == []


def test_an_upload_that_breaks_off_is_told_with_its_file_and_nothing_is_committed(
    folder: Path, httpserver: HTTPServer
) -> None:
    hub = Hub(httpserver, refusing={"/stored/": Response(status=403)})
    with pytest.raises(
        ZooError,
        match=r"me/bound was not uploaded \(Error while uploading 'open_clip_model\.safetensors' "
        r".*403.*\); nothing was committed: fix the cause and run the same command again",
    ):
        push(folder, REPO, endpoint=hub.url)
    assert hub.files == {}
    assert not any("/commit/" in asked for asked in hub.asked)


def test_a_push_that_is_interrupted_says_that_no_commit_was_heard_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zoo.cli.push.push", interrupted)
    assert main(["push", str(folder), REPO]) == 130
    said = capsys.readouterr().err
    assert "interrupted: the hub did not confirm a commit, run the same" in said


def test_a_card_that_the_hub_refuses_is_told_with_what_is_wrong_in_it(
    folder: Path, httpserver: HTTPServer
) -> None:
    wrong = json.dumps({"errors": [{"message": '"license" must be one of ...'}], "warnings": []})
    refusal = Response(wrong, status=400, content_type="application/json")
    hub = Hub(httpserver, refusing={"/validate-yaml": refusal})
    with pytest.raises(ZooError, match=r'metadata in README\.md.*"license" must be.*nothing was'):
        push(folder, REPO, endpoint=hub.url)
    assert hub.files == {}


def test_a_name_that_is_no_repository_is_refused_by_a_dry_run_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", str(folder), "not a name", "--dry_run"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "'not a name' is not a repository name: give USER/NAME" in said.err


def test_paths_of_this_machine_are_found_within_sentences_references_and_names(
    folder: Path,
) -> None:
    described = {
        "pretrained": "/home/my models/last.ckpt",
        "weights": {"image tower": "pretrained, /home/me/last.ckpt"},
        "files": {"/home/me/captions.tsv": "ab" * 32},
        "trained_images": ["file:/home/me/a.png", "file:/home/me/b.png", "https://there/is/it"],
    }
    (folder / DESCRIPTION).write_text(json.dumps(described))
    assert (
        "paths of this machine in zoo.json: 5, such as /home/me/a.png"
        in describe_upload(folder)[-2]
    )


def test_a_name_that_is_no_repository_is_refused(folder: Path, httpserver: HTTPServer) -> None:
    with pytest.raises(ZooError, match="'me/bound/x' is not a repository name: give USER/NAME"):
        push(folder, "me/bound/x", endpoint=Hub(httpserver).url)


def test_a_folder_that_is_no_export_is_refused(folder: Path) -> None:
    (folder / CARD).unlink()
    with pytest.raises(ZooError, match=r"bound was not written by `zoo export`: README"):
        describe_upload(folder)


@pytest.mark.parametrize("target", ["/etc/passwd", "/etc", "../outside.txt"])
def test_a_link_out_of_the_folder_is_refused_and_nothing_is_uploaded(
    folder: Path, httpserver: HTTPServer, target: str
) -> None:
    (folder.parent / "outside.txt").write_text("private")
    (folder / "notes.txt").symlink_to(target)
    hub = Hub(httpserver)
    with pytest.raises(ZooError, match=r"notes\.txt is a link to .*, outside of the folder"):
        push(folder, REPO, endpoint=hub.url)
    assert hub.asked == []
    with pytest.raises(ZooError, match="nothing was uploaded: remove the link"):
        describe_upload(folder)


def test_a_link_within_the_folder_is_uploaded_as_its_file(
    folder: Path, httpserver: HTTPServer, tmp_path: Path
) -> None:
    (folder / "model.safetensors").symlink_to("open_clip_model.safetensors")
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    hub = Hub(httpserver)
    push(linked, REPO, endpoint=hub.url)
    assert hub.files["model.safetensors"] == WEIGHTS
