"""The toolbox by the Model Context Protocol: translates its tools, calls and answers, and nothing more."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Offered
from starlette.applications import Starlette
from starlette.requests import Request

from recallmesh.core.credential import bearing
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.trace_context import TraceContext, current_trace, trace_context, tracing
from recallmesh.tools.argument import schema_of
from recallmesh.tools.fault import told
from recallmesh.tools.stdin import open_lines
from recallmesh.tools.tool import Progress, Reply, Tool
from recallmesh.tools.toolbox import Refusal, Toolbox

NAME = "recallmesh"
TITLE = "recallmesh: long-term memory"
PATH = "/mcp"
"""Where the endpoint is over HTTP."""
SESSIONS = 1_000
"""The most sessions at once over HTTP, of agents that speak a version of the protocol that has sessions."""
BEARER = "bearer"

Context = ServerRequestContext[Any, Any]


def build_server(toolbox: Toolbox) -> Server[Any]:
    """Offer a toolbox; the same for every transport."""

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[offered(toolbox, tool) for tool in toolbox.tools.values()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            with borne(context.request), tracing(trace_of(context.request)):
                answer = await toolbox.call(params.name, params.arguments or {}, progress_of(context))
        except InvalidArgument as error:
            answer = Refusal(told(error))
        return result_of(answer)

    return Server(
        NAME,
        title=TITLE,
        version=version("recallmesh"),
        instructions=toolbox.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def offered(toolbox: Toolbox, tool: Tool[Any]) -> Offered:
    """Write what a model is told of a tool."""
    return Offered(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=toolbox.schema(tool),
        output_schema=schema_of(tool.told),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=False,
        ),
    )


def result_of(answer: Reply | Refusal) -> CallToolResult:
    """Write an answer."""
    content: list[Any] = [TextContent(type="text", text=answer.text)]
    if isinstance(answer, Refusal):
        return CallToolResult(content=content, is_error=True)
    return CallToolResult(content=content, structured_content=answer.plain())


def progress_of(context: Context) -> Progress | None:
    """Return how to tell progress, if the caller wants to be told."""
    return context.session.report_progress if context.meta and "progress_token" in context.meta else None


def trace_of(request: Request | None) -> TraceContext:
    """Return the trace that an HTTP request is part of, if it says so."""
    if request is None:
        return current_trace()
    return trace_context(request.headers.get("traceparent", ""), request.headers.get("tracestate", ""))


def borne(request: Request | None) -> AbstractContextManager[None]:
    """Let calls bear the key of an HTTP request, or none if it has none. Without HTTP: what the process bears.

    Raises:
        InvalidArgument: the request bears something else than a key.

    """
    if request is None:
        return nullcontext()
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme and scheme.lower() != BEARER:
        raise InvalidArgument(FieldViolation("authorization", 'must be "Bearer" and a key'))
    return bearing(key.strip())


async def serve_stdio(toolbox: Toolbox) -> None:
    """Serve the one agent at the other end of standard input and output, until it closes its end.

    Nothing else can get into standard output meanwhile: what writes there writes to standard error.
    """
    server = build_server(toolbox)
    with open_lines() as lines:
        # Typed as the file that it takes by itself; it reads lines of it and nothing more.
        async with stdio_server(stdin=cast("Any", lines)) as (read, write):
            await server.run(read, write, server.create_initialization_options())


def http_app(toolbox: Toolbox, hosts: Sequence[str]) -> Starlette:
    """Serve agents over streamable HTTP. ``hosts`` are the names, with port, that this is called by; none: any.

    A request for another host, or of a page of another origin, is refused: it is of a browser that was led here by
    a name of somebody else's. Any name will do where every call bears a key, which such a page has not.
    """
    return build_server(toolbox).streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=SESSIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=bool(hosts),
            allowed_hosts=list(hosts),
            allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
        ),
    )
