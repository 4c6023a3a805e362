"""`zoo push`: uploads an exported model with its model card to the Hugging Face hub."""

from pathlib import Path

from zoo.cli.command_parser import CommandParser
from zoo.publishing.hub import check_name, describe_upload, push


def main(argv: list[str]) -> int:
    """Lists the files, uploads them, and returns the exit status."""
    args = parser().parse_args(argv)
    check_name(args.repo)
    print(f"{args.folder}, to {args.repo}:", *describe_upload(args.folder), sep="\n", flush=True)
    if not args.dry_run:
        print(push(args.folder, args.repo, args.create, args.private, args.message))
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo push",
        description="Upload an exported model to the Hugging Face hub, in one commit. The command "
        "first lists the files.",
    )
    parser.add_argument("folder", type=Path, help="a folder that `zoo export` wrote")
    parser.add_argument("repo", help="the repository, USER/NAME")
    parser.add_argument(
        "--create", action="store_true", help="create the repository if it does not exist"
    )
    parser.add_argument(
        "--private",
        action="store_true",
        help="create a private repository (with --create), and refuse to upload to a public one",
    )
    parser.add_argument("--message", help="the commit message (default: the name of the folder)")
    parser.add_argument(
        "--dry_run", action="store_true", help="only list the files that would be uploaded"
    )
    return parser
