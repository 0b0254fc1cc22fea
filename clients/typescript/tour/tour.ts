/** A tour: what a client of recallmesh does, step by step, against the mesh at RECALLMESH_ADDRESS. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { credentials } from "@grpc/grpc-js";
import { type Mesh, MeshError, openMesh } from "@recallmesh/client";
import { RecallStage } from "@recallmesh/client/v1/recall_service";

const address = process.env["RECALLMESH_ADDRESS"] || "127.0.0.1:7070";
const mesh = open();
try {
  await tour(mesh);
} catch (error) {
  if (!(error instanceof MeshError)) throw error;
  console.error(sentence(error));
  process.exitCode = 1;
} finally {
  mesh.close();
}

function open(): Mesh {
  try {
    // Where the mesh speaks TLS: the file of the authority that its certificate is of.
    const ca = process.env["RECALLMESH_CA"];
    const encrypted = ca ? { credentials: credentials.createSsl(readFileSync(ca)) } : {};
    return openMesh(address, { key: process.env["RECALLMESH_KEY"] || undefined, ...encrypted });
  } catch (error) {
    console.error(`the mesh cannot be called: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}

async function tour(mesh: Mesh): Promise<void> {
  const bankId = `tour-typescript-${randomBytes(3).toString("hex")}`;
  await mesh.banks.createBank({ bankId });
  console.log(`bank: ${bankId}`);

  // The request id makes it safe to repeat: gRPC does so by itself, and you may, after a crash.
  const retained = await mesh.retain.retain({
    bankId,
    requestId: "call-1",
    items: [item("Nadia: I start in the bakery on 11 May."), item("Leo: I adopted a dog, a greyhound called Pixel.")],
  });
  const memories = retained.items.flatMap((item) => item.memoryIds);
  console.log(`retained: ${retained.items.length} items, ${memories.length} memories`);

  const question = { bankId, query: "Who is Pixel?" };
  const answer = await mesh.recall.recall({ ...question, trace: true });
  console.log(`recalled: ${answer.memories[0]?.memory?.text ?? "nothing"}`);
  console.log(`trace: ${answer.trace?.candidates.length ?? 0} candidates, ${answer.trace?.phases.length ?? 0} phases`);

  // Who cannot wait for the reranker hears the fused answer first; each answer replaces the one before.
  const stages: string[] = [];
  for await (const { stage } of mesh.recall.recallStream({ recall: question })) {
    // A stage that this client does not know yet is a number without a name; the answer is one all the same.
    stages.push(RecallStage[stage]?.toLowerCase() ?? `stage ${stage}`);
  }
  console.log(`streamed: ${stages.join(", ")}`);

  console.log(`bulk: ${await bulk(mesh, bankId)}`);

  try {
    await mesh.banks.getBank({ bankId: `${bankId}-missing` });
  } catch (error) {
    if (!(error instanceof MeshError)) throw error;
    console.log(`error: ${error.codeName} ${error.reason}`);
  }

  try {
    // Every call has a deadline; a call's own goes before the mesh's default. This one has no chance.
    await mesh.banks.getBank({ bankId }, { timeoutMs: 0 });
  } catch (error) {
    if (!(error instanceof MeshError)) throw error;
    console.log(`deadline: ${error.codeName}`);
  }

  await mesh.banks.deleteBank({ bankId });
  console.log(`deleted: ${bankId}`);
}

/** Retain many batches over one stream. Each is answered for itself, while others are still being sent. */
async function bulk(mesh: Mesh, bankId: string): Promise<string> {
  const told = ["Nadia: The oven is from 1931.", "Leo: Pixel refuses the stairs."];
  function* batches() {
    for (const [at, text] of told.entries()) {
      yield { retain: { bankId, requestId: `bulk-${at}`, items: [item(text)] } };
    }
  }
  let kept = 0;
  for await (const { requestId, outcome } of mesh.retain.retainBulk(batches())) {
    if (outcome.case === "retained") kept += 1;
    else console.error(`${requestId} was not kept: ${outcome.value?.message}`);
  }
  return `${kept} of ${told.length} batches kept`;
}

function item(text: string) {
  return { content: [{ block: { case: "text" as const, value: text } }] };
}

/** What went wrong, for people. */
function sentence(error: MeshError): string {
  if (error.reason !== undefined) {
    return `${error.codeName} ${error.reason}: ${error.message} (request ${error.requestId})`;
  }
  if (error.codeName === "UNAVAILABLE") {
    return (
      `UNAVAILABLE: no mesh answers at ${address}. Start one with \`recallmesh serve all\`, or name its address by ` +
      "RECALLMESH_ADDRESS."
    );
  }
  return `${error.codeName}: ${error.message}`;
}
