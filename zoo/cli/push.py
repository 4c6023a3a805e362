"""`zoo push`: uploads an exported model, with its card, to the Hugging Face hub."""

from pathlib import Path

from zoo.publishing.hub import check_name, contents, push
from zoo.support.arguments import Parser


def main(argv: list[str]) -> int:
    """Says what is uploaded, uploads it, and returns the exit status."""
    given = parser().parse_args(argv)
    check_name(given.repo)
    print(f"{given.folder}, to {given.repo}:", *contents(given.folder), sep="\n", flush=True)
    if not given.dry_run:
        print(push(given.folder, given.repo, given.create, given.private, given.message))
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo push",
        description="Upload a folder that `zoo export` wrote to the Hugging Face hub, in one "
        "commit. What is uploaded is listed first.",
    )
    parser.add_argument("folder", type=Path, help="a folder that `zoo export` wrote")
    parser.add_argument("repo", help="the repository, USER/NAME")
    parser.add_argument(
        "--create", action="store_true", help="make the repository where there is none"
    )
    parser.add_argument(
        "--private", action="store_true", help="make it private, and upload nothing to a public one"
    )
    parser.add_argument("--message", help="what the commit says (default: the folder's name)")
    parser.add_argument(
        "--dry_run", action="store_true", help="list what would be uploaded, and upload nothing"
    )
    return parser
