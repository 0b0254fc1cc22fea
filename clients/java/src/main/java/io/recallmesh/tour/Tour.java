package io.recallmesh.tour;

import com.google.protobuf.Timestamp;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.StreamObserver;
import io.recallmesh.client.Mesh;
import io.recallmesh.v1.BankServiceGrpc;
import io.recallmesh.v1.ContentBlock;
import io.recallmesh.v1.CreateBankRequest;
import io.recallmesh.v1.DeleteBankRequest;
import io.recallmesh.v1.GetBankRequest;
import io.recallmesh.v1.RecallRequest;
import io.recallmesh.v1.RecallServiceGrpc;
import io.recallmesh.v1.RecallStreamRequest;
import io.recallmesh.v1.RecallStreamResponse;
import io.recallmesh.v1.RetainBulkRequest;
import io.recallmesh.v1.RetainBulkResponse;
import io.recallmesh.v1.RetainItem;
import io.recallmesh.v1.RetainRequest;
import io.recallmesh.v1.RetainServiceGrpc;
import java.io.File;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** What a client of recallmesh does, from a bank to its end: read it from {@link #run} downwards. */
public final class Tour {
  private final String bank = "tour-java-" + UUID.randomUUID().toString().substring(0, 8);
  private final BankServiceGrpc.BankServiceBlockingStub banks;
  private final RetainServiceGrpc.RetainServiceBlockingStub retain;
  private final RetainServiceGrpc.RetainServiceStub retainAsync;
  private final RecallServiceGrpc.RecallServiceBlockingStub recall;

  private Tour(ManagedChannel channel) {
    banks = BankServiceGrpc.newBlockingStub(channel);
    retain = RetainServiceGrpc.newBlockingStub(channel);
    retainAsync = RetainServiceGrpc.newStub(channel);
    recall = RecallServiceGrpc.newBlockingStub(channel);
  }

  public static void main(String[] arguments) throws IOException {
    var environment = System.getenv();
    var address = environment.getOrDefault("RECALLMESH_ADDRESS", "127.0.0.1:7070");
    var key = environment.getOrDefault("RECALLMESH_KEY", "");
    var channel = Mesh.open(address, key, encryption(environment.get("RECALLMESH_CA")));
    try {
      new Tour(channel).run();
    } catch (StatusRuntimeException error) {
      System.err.println(sentence(error, address));
      System.exit(1);
    } catch (IllegalStateException unexpected) {
      System.err.println(unexpected.getMessage());
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }

  /** TLS with a mesh whose certificate is of the authority in a file; without a file nothing is encrypted. */
  private static ChannelCredentials encryption(String ca) throws IOException {
    return ca == null
        ? InsecureChannelCredentials.create()
        : TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
  }

  private void run() {
    createBank();
    retainItems();
    recallWithTrace();
    recallAsItComes();
    retainInBulk();
    askForABankThatIsNotThere();
    askWithoutTime();
    deleteBank();
  }

  private void createBank() {
    var answer = banks.createBank(CreateBankRequest.newBuilder().setBankId(bank).build());
    System.out.println("bank: " + answer.getBank().getId());
  }

  private void retainItems() {
    var said = Instant.parse("2026-03-21T09:05:00Z");
    var answer =
        retain.retain(
            RetainRequest.newBuilder()
                .setBankId(bank)
                // With a request id, to send this again counts once. Without one, Mesh's channels make one up.
                .setRequestId("call-7")
                .addItems(item("Leo: I adopted a dog yesterday, a greyhound called Pixel.", said))
                .addItems(item("Nadia: I start in the bakery on 11 May.", said.plusSeconds(60)))
                .build());
    var memories = answer.getItemsList().stream().mapToInt(one -> one.getMemoryIdsCount()).sum();
    System.out.printf("retained: %d items, %d memories%n", answer.getItemsCount(), memories);
  }

  private void recallWithTrace() {
    var answer = recall.recall(question().setTrace(true).build());
    if (answer.getMemoriesCount() == 0) {
      // Somebody may not have been able to look: the arms say so.
      throw new IllegalStateException("nothing was recalled; how the arms fared: " + answer.getArmsList());
    }
    System.out.println("recalled: " + answer.getMemories(0).getMemory().getText());
    var trace = answer.getTrace();
    System.out.printf("trace: %d candidates, %d phases%n", trace.getCandidatesCount(), trace.getPhasesCount());
  }

  private void recallAsItComes() {
    var stages = new ArrayList<String>();
    // Each answer is whole and replaces the one before.
    recall
        .recallStream(RecallStreamRequest.newBuilder().setRecall(question()).build())
        .forEachRemaining(answer -> stages.add(stage(answer)));
    System.out.println("streamed: " + String.join(", ", stages));
  }

  private static String stage(RecallStreamResponse answer) {
    return switch (answer.getStage()) {
      case RECALL_STAGE_FUSED -> "fused";
      case RECALL_STAGE_FINAL -> "final";
      // UNRECOGNIZED: a stage that only a newer mesh knows.
      default -> Integer.toString(answer.getStageValue());
    };
  }

  private void retainInBulk() {
    var batches =
        List.of(
            batch("log-1", "Nadia: The oven is hot at five."), batch("log-2", "Leo: Pixel sleeps on the sofa."));
    var answers = new Answers();
    var sending = retainAsync.retainBulk(answers);
    // Whoever has much to say waits for isReady() of a ClientCallStreamObserver: a mesh that is busy holds the sender back.
    batches.forEach(batch -> sending.onNext(RetainBulkRequest.newBuilder().setRetain(batch).build()));
    sending.onCompleted();
    System.out.printf("bulk: %d of %d batches kept%n", answers.kept(), batches.size());
  }

  /** Counts the batches that were kept. */
  private static final class Answers implements StreamObserver<RetainBulkResponse> {
    private final CompletableFuture<Integer> ended = new CompletableFuture<>();
    private int kept;

    @Override
    public void onNext(RetainBulkResponse answer) {
      if (answer.hasRetained()) {
        kept++;
      } else {
        System.err.printf("batch %s: %s%n", answer.getRequestId(), answer.getFailure().getMessage());
      }
    }

    @Override
    public void onError(Throwable error) {
      ended.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      ended.complete(kept);
    }

    int kept() {
      try {
        return ended.join(); // The call's deadline ends it at the latest.
      } catch (CompletionException error) {
        throw error.getCause() instanceof StatusRuntimeException status ? status : error;
      }
    }
  }

  private void askForABankThatIsNotThere() {
    try {
      banks.getBank(GetBankRequest.newBuilder().setBankId(bank + "-not-there").build());
      throw new IllegalStateException("a bank that is not there was found");
    } catch (StatusRuntimeException error) {
      // Programmes decide by the reason: the message is for people, and may be worded anew.
      var reason = Mesh.errorInfo(error).getReason();
      if (!reason.equals("BANK_NOT_FOUND")) {
        throw error;
      }
      System.out.println("error: " + error.getStatus().getCode() + " " + reason);
    }
  }

  private void askWithoutTime() {
    try {
      recall.withDeadlineAfter(1, TimeUnit.MILLISECONDS).recall(question().build());
      throw new IllegalStateException("a millisecond was enough");
    } catch (StatusRuntimeException error) {
      if (error.getStatus().getCode() != Status.Code.DEADLINE_EXCEEDED) {
        throw error;
      }
      System.out.println("deadline: " + error.getStatus().getCode());
    }
  }

  private void deleteBank() {
    banks.deleteBank(DeleteBankRequest.newBuilder().setBankId(bank).build());
    System.out.println("deleted: " + bank);
  }

  private RecallRequest.Builder question() {
    return RecallRequest.newBuilder().setBankId(bank).setQuery("Who is Pixel?");
  }

  private RetainRequest batch(String requestId, String text) {
    return RetainRequest.newBuilder()
        .setBankId(bank)
        .setRequestId(requestId)
        .addItems(RetainItem.newBuilder().addContent(ContentBlock.newBuilder().setText(text)))
        .build();
  }

  private static RetainItem item(String text, Instant said) {
    return RetainItem.newBuilder()
        .addContent(ContentBlock.newBuilder().setText(text))
        .setTime(Timestamp.newBuilder().setSeconds(said.getEpochSecond()).setNanos(said.getNano()))
        .build();
  }

  /** Says for people what went wrong, and what they can do. */
  private static String sentence(StatusRuntimeException error, String address) {
    var info = Mesh.errorInfo(error);
    var code = error.getStatus().getCode();
    if (code == Status.Code.UNAVAILABLE && info.getReason().isEmpty()) {
      return "UNAVAILABLE: no mesh answers at " + address
          + ". Start one with `recallmesh serve all`, or say where it is in RECALLMESH_ADDRESS.";
    }
    return "%s %s: %s (request id %s)"
        .formatted(code, info.getReason(), error.getStatus().getDescription(), info.getMetadataOrDefault("request_id", ""));
  }
}
