//! A tour: what a client of recallmesh does, step by step, against the mesh at `RECALLMESH_ADDRESS`.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use recallmesh_client::v1::content_block::Block;
use recallmesh_client::v1::retain_bulk_response::Outcome;
use recallmesh_client::v1::{
    ContentBlock, CreateBankRequest, DeleteBankRequest, GetBankRequest, RecallRequest, RecallStreamRequest,
    RetainBulkRequest, RetainItem, RetainRequest,
};
use recallmesh_client::{Mesh, Options, code_name, reason};
use tonic::{Code, Request, Status};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let address = set("RECALLMESH_ADDRESS").unwrap_or_else(|| "127.0.0.1:7070".to_owned());
    let key = set("RECALLMESH_KEY");
    let mesh = match Mesh::open(&address, Options { key, ..Options::default() }) {
        Ok(mesh) => mesh,
        Err(error) => {
            eprintln!("the mesh cannot be called: {error}");
            return ExitCode::FAILURE;
        }
    };
    match tour(&mesh).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => {
            eprintln!("{}", sentence(&status, &address));
            ExitCode::FAILURE
        }
    }
}

async fn tour(mesh: &Mesh) -> Result<(), Status> {
    let bank_id = format!("tour-rust-{:08x}", getrandom::u32().unwrap_or_default());
    mesh.banks().create_bank(CreateBankRequest { bank_id: bank_id.clone(), ..Default::default() }).await?;
    println!("bank: {bank_id}");

    // The request id makes it safe to repeat: the layer does so by itself, and you may, after a crash.
    let retained = mesh
        .retain()
        .retain(batch(
            &bank_id,
            "call-1",
            &["Nadia: I start in the bakery on 11 May.", "Leo: I adopted a dog, a greyhound called Pixel."],
        ))
        .await?
        .into_inner();
    let memories: usize = retained.items.iter().map(|item| item.memory_ids.len()).sum();
    println!("retained: {} items, {memories} memories", retained.items.len());

    let question = RecallRequest { bank_id: bank_id.clone(), query: "Who is Pixel?".to_owned(), ..Default::default() };
    let answer = mesh.recall().recall(RecallRequest { trace: true, ..question.clone() }).await?.into_inner();
    let best = answer.memories.first().and_then(|recalled| recalled.memory.as_ref());
    println!("recalled: {}", best.map_or("nothing", |memory| &memory.text));
    let trace = answer.trace.unwrap_or_default();
    println!("trace: {} candidates, {} phases", trace.candidates.len(), trace.phases.len());

    // Who cannot wait for the reranker hears the fused answer first; each answer replaces the one before.
    let mut answers = mesh.recall().recall_stream(RecallStreamRequest { recall: Some(question) }).await?.into_inner();
    let mut stages = Vec::new();
    while let Some(answer) = answers.message().await? {
        // Of a stage that this client does not know yet, `stage()` says UNSPECIFIED; the answer is one all the same.
        stages.push(answer.stage().as_str_name().trim_start_matches("RECALL_STAGE_").to_lowercase());
    }
    println!("streamed: {}", stages.join(", "));

    println!("bulk: {}", bulk(mesh, &bank_id).await?);

    let missing = GetBankRequest { bank_id: format!("{bank_id}-missing") };
    let status = mesh.banks().get_bank(missing).await.err().unwrap_or_else(|| Status::ok(""));
    let why = reason(&status).map_or_else(|| "without a reason".to_owned(), |reason| reason.name);
    println!("error: {} {why}", code_name(status.code()));

    // Every call has a deadline; a call's own goes before the mesh's default. This one has no chance.
    let mut hurried = Request::new(GetBankRequest { bank_id: bank_id.clone() });
    hurried.set_timeout(Duration::from_nanos(1));
    let status = mesh.banks().get_bank(hurried).await.err().unwrap_or_else(|| Status::ok(""));
    println!("deadline: {}", code_name(status.code()));

    mesh.banks().delete_bank(DeleteBankRequest { bank_id: bank_id.clone(), ..Default::default() }).await?;
    println!("deleted: {bank_id}");
    Ok(())
}

/// Retain many batches over one stream. Each is answered for itself, while others are still being sent.
async fn bulk(mesh: &Mesh, bank_id: &str) -> Result<String, Status> {
    let told = [("bulk-1", "Nadia: The oven is from 1931."), ("bulk-2", "Leo: Pixel refuses the stairs.")];
    let batches: Vec<_> = told
        .iter()
        .map(|(request_id, text)| RetainBulkRequest { retain: Some(batch(bank_id, request_id, &[text])) })
        .collect();
    let sent = batches.len();
    let mut answers = mesh.retain().retain_bulk(tokio_stream::iter(batches)).await?.into_inner();
    let mut kept = 0;
    while let Some(answer) = answers.message().await? {
        match answer.outcome {
            Some(Outcome::Retained(_)) => kept += 1,
            Some(Outcome::Failure(failure)) => eprintln!("{} was not kept: {}", answer.request_id, failure.message),
            None => eprintln!("{} has an outcome that this client does not know", answer.request_id),
        }
    }
    Ok(format!("{kept} of {sent} batches kept"))
}

fn batch(bank_id: &str, request_id: &str, texts: &[&str]) -> RetainRequest {
    let item = |text: &&str| RetainItem {
        content: vec![ContentBlock { block: Some(Block::Text((*text).to_owned())) }],
        ..Default::default()
    };
    RetainRequest {
        bank_id: bank_id.to_owned(),
        request_id: request_id.to_owned(),
        items: texts.iter().map(item).collect(),
        ..Default::default()
    }
}

/// What went wrong, for people.
fn sentence(status: &Status, address: &str) -> String {
    let code = code_name(status.code());
    match reason(status) {
        Some(reason) => {
            format!(
                "{code} {}: {} (request {})",
                reason.name,
                status.message(),
                reason.request_id().unwrap_or("unknown")
            )
        }
        None if status.code() == Code::Unavailable => format!(
            "UNAVAILABLE: no mesh answers at {address}. Start one with `recallmesh serve all`, or name its address by \
             RECALLMESH_ADDRESS."
        ),
        None => format!("{code}: {}", status.message()),
    }
}
