import pytest

from zoo.cli.scenes import main
from zoo.errors import ZooError


@pytest.mark.usefixtures("renderer")
def test_scenes_are_rendered_and_laid_out_from_the_command_line(tmp_path, capsys):
    command = [
        "render",
        "--out",
        str(tmp_path / "s"),
        "--n",
        "4",
        "--size",
        "24",
        "--samples",
        "1",
        "--workers",
        "0",
        "--objects",
        "2-3",
    ]
    assert main(command) == 0
    assert "4 scenes, 4 rendered now" in capsys.readouterr().out
    assert main(command) == 0
    assert "0 rendered now" in capsys.readouterr().out
    assert main(["sheet", str(tmp_path / "s"), "--out", str(tmp_path / "sheet.png")]) == 0
    assert (tmp_path / "sheet.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--objects", "some", "as 2-4"),
        ("--held_out", "red cube,blue ball", "'blue ball'"),
        ("--held_out", "cube", "'cube'"),
    ],
)
def test_wrong_options_are_named(tmp_path, option, value, says):
    with pytest.raises(ZooError, match=says):
        main(["render", "--out", str(tmp_path), option, value])


@pytest.mark.parametrize(("size", "samples"), [("48", 16), ("127", 16), ("128", 64)])
def test_where_objects_may_be_small_more_paths_are_traced(tmp_path, monkeypatch, size, samples):
    given = []
    monkeypatch.setattr(
        "zoo.scenes.cache.render_scenes", lambda *arguments: given.append(arguments) or 0
    )
    assert main(["render", "--out", str(tmp_path), "--size", size]) == 0
    assert given[0][3:5] == (int(size), samples)
    assert main(["render", "--out", str(tmp_path), "--size", size, "--samples", "3"]) == 0
    assert given[1][4] == 3
