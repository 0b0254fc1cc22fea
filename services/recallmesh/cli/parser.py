"""The words of the command line, with help that teaches."""

import argparse
from importlib.metadata import version

from recallmesh.cli import credential_words, entity_words, health_words, index_words, mcp_words, upkeep_words
from recallmesh.cli.content_words import add_contents
from recallmesh.cli.guide import keys_help
from recallmesh.cli.labels import LABELS_HELP
from recallmesh.cli.words import Commands, Parser, add_bank, add_json, add_place, add_tags, command
from recallmesh.core.memory import ALL_FACT_TYPES
from recallmesh.core.tuning import Budget

PARTS = ("semantic", "keyword", "graph", "temporal", "recall", "reranker", "embedder", "retain", "bank")

MODES = ("concise", "verbose", "custom", "verbatim", "chunks")

OVERVIEW = """\
Memory for AI agents: retain what was seen and told, recall what matters now.

Without --server the whole mesh runs inside the command, on files below --data.
With --server ADDRESS (or RECALLMESH_SERVER) it talks to a running mesh, and
its calls bear the key of RECALLMESH_KEY, if it is set.
"""

OVERVIEW_EXAMPLES = """\
a first minute:
  recallmesh bank create diary
  recallmesh retain --bank diary --text "Nadia: I start as a baker on 11 May."
  recallmesh recall --bank diary "When does Nadia start?"
  recallmesh demo                      the same with a whole conversation

exit codes: 0 done, 1 failed, 2 usage, 130 interrupted
"""

RETAIN_EXAMPLES = """\
examples:
  recallmesh retain --bank diary --text "Leo: I adopted a dog yesterday."
  recallmesh retain --bank diary --file conversation.jsonl
  recallmesh retain --bank diary notes/*.md chat.json mail.eml page.html a.pdf
  tail -n 20 log.jsonl | recallmesh retain --bank diary -

A line of JSONL is one item:
  {"content": "Leo: hello", "time": "2026-03-21T10:05:00+01:00",
   "context": "Leo is speaking to Nadia", "document_id": "call-7",
   "tags": ["family"], "metadata": {"source": "phone"},
   "entities": ["Nadia", {"name": "mood:happy", "kind": "label"}]}
Only "content" is required; it may be a list of texts and images, which are
files beside the lines: ["Look:", {"file": "bridge.png"}]. Lines that follow
each other with the same document_id are one document. "time": null means: it
has no time; no "time" means: now. (In a file each item is on one line.)

Retaining the same again keeps it twice, unless it has a document_id: then it
replaces what that document said.

Lines are retained as they come, 100 a batch. Wrong lines of a file are told
before anything is retained; of a stream, when they come. --skip-bad leaves
them out, says which, and exits with 1. --json prints one RetainResponse for
the whole command.

Files, by their ending: .md .txt .rst .html .htm .eml .pdf, .json of a chat
(OpenAI's messages; exports of ChatGPT, Slack, Telegram), .txt of WhatsApp. Each
is a document under its own path: retained again it is replaced, and what did
not change stays. A file without a date of its own has no time, unless --time
gives it one. What cannot be read is told, the others are retained, and the
command exits with 1. It needs the extra: pip install 'recallmesh[files]'

What was stopped half way, by Ctrl-C, a kill or an error, goes on with --resume
(standard input: with the same lines again); nothing is lost or kept twice. A
mesh that restarts meanwhile is waited for.
"""

RECALL_EXAMPLES = """\
examples:
  recallmesh recall --bank diary "What is Leo allergic to?"
  recallmesh recall --bank diary "What happened in May?" --trace \\
    --query-time 2026-10-06T09:00:00+02:00
  recallmesh recall --bank diary "Who bakes?" --budget low --max-tokens 500 \\
    --json | jq '.memories[].memory.text'
  recallmesh recall --bank diary "Who bakes?" --stream --json | jq -r .stage
                     a line for the provisional answer, one for the final one
  recallmesh recall --bank diary "Who bakes?" --trace > trace.tsv
                     tables with tabs: all candidates, all digits, no width
  recallmesh recall --bank diary "Who bakes?" --trace-html trace.html
                     a page that shows each memory's way; loads nothing
"""

SERVE_EXAMPLES = """\
examples:
  recallmesh serve all
      the whole mesh in one process
  recallmesh serve keyword graph --listen 127.0.0.1:7071
      two arms, for others to call
  RECALLMESH_KEYWORD__ADDRESS=127.0.0.1:7071 recallmesh serve recall
      recall, which asks the keyword arm there
  recallmesh serve all door
      the whole mesh, and HTTP with JSON on 127.0.0.1:7080
  RECALLMESH_DOOR__SERVER=127.0.0.1:7070 recallmesh serve door
      HTTP with JSON for a mesh that is served there

An address in the settings (RECALLMESH_<PART>__ADDRESS) means "there"; none
means "here, in this process". What you name on this line runs here in any case.
`recallmesh check-config --all` shows all settings.

"recallmesh serves … on ADDRESS" is printed once all of it is ready.
"""

EVENT_KINDS = ("retain.completed", "consolidation.completed", "memory_defense.triggered")
KINDS_HELP = f"{', '.join(EVENT_KINDS)} (default: all)"
EVENTS_EXAMPLES = """\
examples:
  recallmesh events --bank diary
  recallmesh events --bank diary --follow --json | jq -r .id
  recallmesh events --bank diary --follow --after 000000000012-3f0c…
      goes on where another left off; without --after: from now on
  recallmesh events --bank diary --security
"""

WEBHOOK_EXAMPLES = """\
examples:
  recallmesh webhook add --bank diary https://example.com/hooks/recallmesh
      prints the secret that signs the posts, this once
  recallmesh webhook list --bank diary

Posts are signed as Standard Webhooks has it: the header webhook-signature holds
"v1," and the base64 of HMAC-SHA256 over webhook-id "." webhook-timestamp "." body.
webhook-id is the event's; whoever has seen it has the event already. A post that
is not answered with a 2xx is made again, for about two hours; then the address
is given up, which `webhook list` shows.
"""


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands; each leaves its module's name in ``module``."""
    parser = Parser(
        prog="recallmesh",
        allow_abbrev=False,
        description=OVERVIEW,
        epilog=OVERVIEW_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"recallmesh {version('recallmesh')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_serve(commands)
    _add_retain(commands)
    _add_recall(commands)
    _add_attachment(commands)
    _add_bank(commands)
    add_contents(commands)
    _add_events(commands)
    _add_webhook(commands)
    _add_entity(commands)
    _add_index_commands(commands)
    credential_words.add_key(commands)
    _add_check_config(commands)
    _add_health(commands)
    _add_mcp(commands)
    _add_demo(commands)
    return parser


def _add_serve(commands: Commands) -> None:
    parser = command(commands, "serve", "serving", "run the mesh, or parts of it", SERVE_EXAMPLES)
    parser.add_argument(
        "parts",
        nargs="+",
        metavar="PART",
        choices=(*PARTS, "all", "door"),
        help=f"all, or some of: {', '.join(PARTS)}; and door, which is HTTP and JSON",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="where to listen (default: 127.0.0.1:7070, a door alone: 127.0.0.1:7080; port 0: any)",
    )
    parser.add_argument("--data", metavar="DIR", help="the folder of the embedded stores")


def _add_retain(commands: Commands) -> None:
    parser = command(
        commands, "retain", "retaining", "keep text, a conversation or a document in a bank", RETAIN_EXAMPLES
    )
    parser.add_argument("--bank", required=True, metavar="B", help="the bank; made on the fly if there is none")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar="T", help="one item")
    source.add_argument("--file", metavar="F.jsonl", help="one item a line; - for standard input")
    source.add_argument(
        "sources",
        nargs="*",
        default=[],
        metavar="FILE",
        help="files of other kinds, each a document; or - as in --file -",
    )
    parser.add_argument(
        "--context", default="", metavar="C", help='with --text: who speaks, say "Leo is speaking to Nadia"'
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="with --text: an image behind it (PNG, JPEG, GIF, WebP), for a model that reads images; may be repeated",
    )
    parser.add_argument(
        "--time",
        metavar="ISO",
        help="when it was said (--text: default now; files: for those without a date of their own)",
    )
    parser.add_argument("--tags", nargs="+", default=(), metavar="TAG", help="tags for every item")
    parser.add_argument("--mode", choices=MODES, help="how facts are made (default: the bank's)")
    parser.add_argument("--resume", action="store_true", help="with lines: go on where an earlier run of them stopped")
    parser.add_argument(
        "--anew", action="store_true", help="with lines: begin again although an earlier run stopped half way"
    )
    parser.add_argument("--skip-bad", action="store_true", help="with lines: leave wrong ones out, and say which")
    add_json(parser)
    add_place(parser)


def _add_recall(commands: Commands) -> None:
    parser = command(commands, "recall", "recalling", "ask a bank", RECALL_EXAMPLES)
    add_bank(parser)
    parser.add_argument("query", help="the question, in your own words")
    parser.add_argument(
        "--budget", choices=tuple(b.value for b in Budget), default="mid", help="how deep to search (default: mid)"
    )
    parser.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="how much to return (default: 4096)")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="the most memories to return (default: no bound)"
    )
    parser.add_argument("--query-time", metavar="ISO", help="the asker's now, with UTC offset (default: the clock's)")
    add_tags(parser)
    parser.add_argument(
        "--types",
        nargs="+",
        choices=tuple(t.value for t in ALL_FACT_TYPES),
        metavar="TYPE",
        help="world, experience, observation (default: all)",
    )
    parser.add_argument("--no-rerank", action="store_true", help="keep the order of the fusion, which is much faster")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="rank this once by another value; may be repeated (keys: recallmesh bank set --help)",
    )
    parser.add_argument(
        "--stream", action="store_true", help="show the fused answer at once, until the reranked one takes its place"
    )
    parser.add_argument("--trace", action="store_true", help="show how the answer came about")
    parser.add_argument("--trace-html", metavar="FILE", help="write how it came about as a page for a browser")
    add_json(parser)
    add_place(parser)


def _add_attachment(commands: Commands) -> None:
    parser = command(commands, "attachment", "attachments", "get an image back that was retained")
    parser.add_argument("--bank", required=True, metavar="B", help="the bank")
    parser.add_argument("attachment", metavar="ID", help="its id, as recall says it")
    parser.add_argument("--output", metavar="FILE", help="a file that is not there yet; - for standard output")
    add_place(parser)


def _add_bank(commands: Commands) -> None:
    parser = command(commands, "bank", "banks", "create, list, show, set up, move and delete banks")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a bank")
    create.add_argument("bank", metavar="B", help="the bank")
    create.add_argument("--name", default="", help="a name for people")
    create.add_argument(
        "--mode",
        choices=MODES,
        help="how facts are made of text (default: concise)",
    )
    create.add_argument(
        "pairs", nargs="*", metavar="KEY=VALUE", help="how it is set up (keys: recallmesh bank set --help)"
    )
    listing = actions.add_parser("list", help="list the banks")
    show = actions.add_parser("show", help="show a bank, what it holds and how it is set up")
    show.add_argument("bank", metavar="B", help="the bank")
    show.add_argument("--effective", action="store_true", help="show every setting in force, and who has set it")
    setting = actions.add_parser(
        "set",
        help="set how a bank ranks and takes in",
        description="Set how a bank ranks and takes in. KEY= alone returns to the service's value.",
        epilog=keys_help() + LABELS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    setting.add_argument("bank", metavar="B", help="the bank")
    setting.add_argument("pairs", nargs="+", metavar="KEY=VALUE", help="see the keys below")
    export = actions.add_parser("export", help="write all a bank holds but vectors to a file")
    export.add_argument("bank", metavar="B", help="the bank")
    export.add_argument(
        "file",
        metavar="FILE",
        help="JSON lines, compressed if it ends in .gz, put in the place of one that is there; - for standard output",
    )
    imported = actions.add_parser("import", help="fill an empty bank from an exported file")
    imported.add_argument("bank", metavar="B", help="the bank; made on the fly if there is none")
    imported.add_argument("file", metavar="FILE", help="what export wrote, plain or .gz; - for standard input")
    consolidate = actions.add_parser(
        "consolidate", help="make observations of what a bank's facts say together, and wait until it is done"
    )
    consolidate.add_argument("bank", metavar="B", help="the bank")
    consolidate.add_argument("--no-wait", action="store_true", help="do not wait; prints the operation")
    delete = actions.add_parser("delete", help="delete a bank and all it holds")
    delete.add_argument("bank", metavar="B", help="the bank")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    for action in (create, listing, show, setting, consolidate, export, imported, delete):
        action.set_defaults(usage=action.prog.removeprefix("recallmesh "))
        add_json(action)
        add_place(action)


def _add_events(commands: Commands) -> None:
    parser = command(commands, "events", "events", "list or watch what happened in a bank", EVENTS_EXAMPLES)
    add_bank(parser)
    parser.add_argument("--follow", action="store_true", help="go on with what happens, until interrupted")
    parser.add_argument("--after", default="", metavar="ID", help="only what followed this event")
    parser.add_argument("--kinds", nargs="+", choices=EVENT_KINDS, default=(), metavar="KIND", help=KINDS_HELP)
    parser.add_argument(
        "--security", action="store_true", help="list what memory defense decided, as far back as it was"
    )
    add_json(parser)
    add_place(parser)


def _add_webhook(commands: Commands) -> None:
    parser = command(commands, "webhook", "webhooks", "have a bank's events posted to an address", WEBHOOK_EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="post events to an address")
    add.add_argument("url", metavar="URL")
    add.add_argument(
        "--secret-file", metavar="F", help="what signs the posts; - for standard input (default: one is made)"
    )
    add.add_argument("--kinds", nargs="+", choices=EVENT_KINDS, default=(), metavar="KIND", help=KINDS_HELP)
    add.add_argument("--timeout", type=float, metavar="S", help="seconds that one post may take (default: 10)")
    listing = actions.add_parser("list", help="list the addresses, and how far each is")
    remove = actions.add_parser("remove", help="post nothing to an address any more")
    remove.add_argument("webhook", metavar="ID")
    for action in (add, listing, remove):
        add_bank(action)
        action.set_defaults(usage=action.prog.removeprefix("recallmesh "))
        add_json(action)
        add_place(action)


def _add_index_commands(commands: Commands) -> None:
    for name, module, about, epilog in index_words.COMMANDS:
        parser = command(commands, name, module, about, epilog)
        index_words.add_bank(parser)
        add_json(parser)
        add_place(parser)
    index_words.add_migrate(
        command(commands, "migrate", "migrating", index_words.MIGRATE, index_words.MIGRATE_EXAMPLES)
    )
    for name, about, epilog in upkeep_words.COMMANDS:
        upkeep_words.add_words(name, command(commands, name, name, about, epilog))
    doctor = command(commands, "doctor", "doctor", index_words.DOCTOR, index_words.DOCTOR_EXAMPLES)
    index_words.add_rows_json(doctor)
    add_place(doctor)


def _add_entity(commands: Commands) -> None:
    parser = command(commands, "entity", "entities", entity_words.ABOUT, entity_words.EXAMPLES)
    for action in entity_words.add_actions(parser):
        add_json(action)
        add_place(action)


def _add_mcp(commands: Commands) -> None:
    parser = command(commands, "mcp", "mcp", mcp_words.ABOUT, mcp_words.EXAMPLES)
    mcp_words.add_words(parser)
    add_place(parser)


def _add_check_config(commands: Commands) -> None:
    parser = command(
        commands, "check-config", "checking", "check the settings, warn, and show what differs from the defaults"
    )
    parser.add_argument("--all", action="store_true", help="show every setting")
    parser.add_argument("--data", metavar="DIR", help="the folder of the embedded stores")


def _add_health(commands: Commands) -> None:
    parser = command(commands, "health", "health", health_words.ABOUT, health_words.EXAMPLES)
    health_words.add_words(parser)


def _add_demo(commands: Commands) -> None:
    parser = command(commands, "demo", "demo", "retain a conversation, ask it questions, show the answers and why")
    parser.add_argument("--keep", metavar="DIR", help="keep the stores in this folder (default: a temporary one)")
    parser.add_argument("--trace-html", metavar="FILE", help="write the last answer's trace as a page for a browser")
