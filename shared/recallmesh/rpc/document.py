# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of documents over the wire."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Documents
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import BankRef
from recallmesh.core.document import Chunk, Document
from recallmesh.core.operation import Operation
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.rpc.call import stream, unary
from recallmesh.rpc.codec.attachment import pieces_from_pb, pieces_to_pb
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.document import chunk_from_pb, chunk_to_pb, document_from_pb, document_to_pb
from recallmesh.rpc.codec.operation import operation_from_pb, operation_to_pb
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import document_service_pb2 as pb
from recallmesh.v1 import document_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class DocumentServicer(document_service_pb2_grpc.DocumentServiceServicer):
    """Translates calls to documents; what the port has not yet is UNIMPLEMENTED."""

    def __init__(self, documents: Documents) -> None:
        """Offer these documents."""
        self._documents = documents

    async def GetDocument(self, request: pb.GetDocumentRequest, context: Context) -> pb.GetDocumentResponse:
        ref, visible = bank_ref(request.bank_id, tenant_of(context)), tag_test_from_pb(request.tags)
        document = await self._documents.get_document(ref, request.document_id, visible=visible)
        return pb.GetDocumentResponse(document=document_to_pb(document))

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: Context) -> pb.ListDocumentsResponse:
        tenant, visible = tenant_of(context), tag_test_from_pb(request.tags)

        def write(page: Page[Document]) -> pb.ListDocumentsResponse:
            rows = [document_to_pb(document) for document in page.rows]
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListDocumentsResponse(documents=rows, next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._documents.list_documents, bank_ref(request.bank_id, tenant), visible=visible)
        return await page_to_pb(read, wanted, write)

    async def DeleteDocument(self, request: pb.DeleteDocumentRequest, context: Context) -> pb.DeleteDocumentResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        count = await self._documents.delete_document(ref, request.document_id)
        return pb.DeleteDocumentResponse(memory_count=count)

    async def ReprocessDocument(
        self, request: pb.ReprocessDocumentRequest, context: Context
    ) -> pb.ReprocessDocumentResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        operation = await self._documents.reprocess_document(ref, request.document_id)
        return pb.ReprocessDocumentResponse(operation=operation_to_pb(operation))

    async def GetChunk(self, request: pb.GetChunkRequest, context: Context) -> pb.GetChunkResponse:
        ref, visible = bank_ref(request.bank_id, tenant_of(context)), tag_test_from_pb(request.tags)
        chunk = await self._documents.get_chunk(ref, request.chunk_id, visible=visible)
        return pb.GetChunkResponse(chunk=chunk_to_pb(chunk))

    async def ListChunks(self, request: pb.ListChunksRequest, context: Context) -> pb.ListChunksResponse:
        tenant, visible = tenant_of(context), tag_test_from_pb(request.tags)

        def write(page: Page[Chunk]) -> pb.ListChunksResponse:
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListChunksResponse(chunks=[chunk_to_pb(chunk) for chunk in page.rows], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        ref = bank_ref(request.bank_id, tenant)
        read = partial(self._documents.list_chunks, ref, request.document_id, visible=visible)
        return await page_to_pb(read, wanted, write)

    async def GetAttachment(
        self, request: pb.GetAttachmentRequest, context: Context
    ) -> AsyncIterator[pb.GetAttachmentResponse]:
        ref, visible = bank_ref(request.bank_id, tenant_of(context)), tag_test_from_pb(request.tags)
        attachment = await self._documents.get_attachment(ref, request.attachment_id, visible=visible)
        for piece in pieces_to_pb(attachment):
            yield piece


class RemoteDocuments:
    """Documents at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the documents; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._documents = document_service_pb2_grpc.DocumentServiceStub(channel)
        self._timeout_s = timeout_s

    async def get_document(self, ref: BankRef, document_id: str, *, visible: TagTest = EVERYTHING) -> Document:
        """Return a document."""
        tags = tag_test_to_pb(visible)
        request = partial(pb.GetDocumentRequest, bank_id=ref.bank_id, document_id=document_id, tags=tags)
        found = await unary(self._documents.GetDocument, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return document_from_pb(found.document)

    async def list_documents(self, ref: BankRef, page: PageRequest, *, visible: TagTest = EVERYTHING) -> Page[Document]:
        """List documents; the keys to go on from are page tokens."""
        request = partial(
            pb.ListDocumentsRequest,
            bank_id=ref.bank_id,
            page_size=page.size,
            page_token=page.after,
            tags=tag_test_to_pb(visible),
        )
        found = await unary(self._documents.ListDocuments, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(document_from_pb(document) for document in found.documents), found.next_page_token)

    async def delete_document(self, ref: BankRef, document_id: str) -> int:
        """Delete a document and everything derived from it."""
        request = partial(pb.DeleteDocumentRequest, bank_id=ref.bank_id, document_id=document_id)
        found = await unary(self._documents.DeleteDocument, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return found.memory_count

    async def reprocess_document(self, ref: BankRef, document_id: str) -> Operation:
        """Start making a document's memories once more."""
        request = partial(pb.ReprocessDocumentRequest, bank_id=ref.bank_id, document_id=document_id)
        found = await unary(self._documents.ReprocessDocument, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)

    async def get_chunk(self, ref: BankRef, chunk_id: str, *, visible: TagTest = EVERYTHING) -> Chunk:
        """Return a chunk."""
        tags = tag_test_to_pb(visible)
        request = partial(pb.GetChunkRequest, bank_id=ref.bank_id, chunk_id=chunk_id, tags=tags)
        found = await unary(self._documents.GetChunk, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return chunk_from_pb(found.chunk)

    async def list_chunks(
        self, ref: BankRef, document_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[Chunk]:
        """List a document's chunks; the keys to go on from are page tokens."""
        request = partial(
            pb.ListChunksRequest,
            bank_id=ref.bank_id,
            document_id=document_id,
            page_size=page.size,
            page_token=page.after,
            tags=tag_test_to_pb(visible),
        )
        found = await unary(self._documents.ListChunks, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(chunk_from_pb(chunk) for chunk in found.chunks), found.next_page_token)

    async def get_attachment(
        self, ref: BankRef, attachment_id: str, *, visible: TagTest = EVERYTHING
    ) -> StoredAttachment:
        """Return an attachment, put together of its pieces."""
        tags = tag_test_to_pb(visible)
        request = partial(pb.GetAttachmentRequest, bank_id=ref.bank_id, attachment_id=attachment_id, tags=tags)
        pieces = stream(self._documents.GetAttachment, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return pieces_from_pb([piece async for piece in pieces])
