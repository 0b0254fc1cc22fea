// Tour is what a client of recallmesh does, from a bank to its end: read it from run downwards.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	recallmesh "github.com/recallmesh/recallmesh/clients/go"
	pb "github.com/recallmesh/recallmesh/clients/go/gen/recallmesh/v1"
)

func main() {
	address := cmp.Or(os.Getenv("RECALLMESH_ADDRESS"), "127.0.0.1:7070")
	options, err := encryption(os.Getenv("RECALLMESH_CA"))
	if err == nil {
		err = run(context.Background(), address, os.Getenv("RECALLMESH_KEY"), options...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, sentence(err, address))
		os.Exit(1)
	}
}

// encryption returns what makes Dial speak TLS with a mesh whose certificate is of the authority in a file; for no file
// nothing.
func encryption(ca string) ([]grpc.DialOption, error) {
	if ca == "" {
		return nil, nil
	}
	known, err := credentials.NewClientTLSFromFile(ca, "")
	return []grpc.DialOption{grpc.WithTransportCredentials(known)}, err
}

func run(ctx context.Context, address, key string, options ...grpc.DialOption) error {
	connection, err := recallmesh.Dial(address, key, options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	tour := tour{
		bank:   "tour-go-" + strings.ToLower(rand.Text()[:8]),
		banks:  pb.NewBankServiceClient(connection),
		retain: pb.NewRetainServiceClient(connection),
		recall: pb.NewRecallServiceClient(connection),
	}
	for _, step := range []func(context.Context) error{
		tour.createBank, tour.retainItems, tour.recallWithTrace, tour.recallAsItComes, tour.retainInBulk,
		tour.askForABankThatIsNotThere, tour.askWithoutTime, tour.deleteBank,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type tour struct {
	bank   string
	banks  pb.BankServiceClient
	retain pb.RetainServiceClient
	recall pb.RecallServiceClient
}

func (t tour) createBank(ctx context.Context) error {
	answer, err := t.banks.CreateBank(ctx, &pb.CreateBankRequest{BankId: t.bank})
	if err != nil {
		return err
	}
	fmt.Println("bank:", answer.Bank.Id)
	return nil
}

func (t tour) retainItems(ctx context.Context) error {
	said := time.Date(2026, time.March, 21, 9, 5, 0, 0, time.UTC)
	answer, err := t.retain.Retain(ctx, &pb.RetainRequest{
		BankId: t.bank,
		// With a request id, to send this again counts once. Without one, Dial's connections make one up.
		RequestId: "call-7",
		Items: []*pb.RetainItem{
			item("Leo: I adopted a dog yesterday, a greyhound called Pixel.", said),
			item("Nadia: I start in the bakery on 11 May.", said.Add(time.Minute)),
		},
	})
	if err != nil {
		return err
	}
	memories := 0
	for _, retained := range answer.Items {
		memories += len(retained.MemoryIds)
	}
	fmt.Printf("retained: %d items, %d memories\n", len(answer.Items), memories)
	return nil
}

func item(said string, at time.Time) *pb.RetainItem {
	return &pb.RetainItem{Content: text(said), Time: timestamppb.New(at)}
}

func text(said string) []*pb.ContentBlock {
	return []*pb.ContentBlock{{Block: &pb.ContentBlock_Text{Text: said}}}
}

func (t tour) recallWithTrace(ctx context.Context) error {
	answer, err := t.recall.Recall(ctx, &pb.RecallRequest{BankId: t.bank, Query: "Who is Pixel?", Trace: true})
	if err != nil {
		return err
	}
	if len(answer.Memories) == 0 {
		// Somebody may not have been able to look: the arms say so.
		return fmt.Errorf("nothing was recalled; how the arms fared: %v", answer.Arms)
	}
	fmt.Println("recalled:", answer.Memories[0].Memory.Text)
	fmt.Printf("trace: %d candidates, %d phases\n", len(answer.Trace.Candidates), len(answer.Trace.Phases))
	return nil
}

func (t tour) recallAsItComes(ctx context.Context) error {
	answers, err := t.recall.RecallStream(ctx, &pb.RecallStreamRequest{
		Recall: &pb.RecallRequest{BankId: t.bank, Query: "Who is Pixel?"},
	})
	if err != nil {
		return err
	}
	var stages []string
	for {
		answer, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		// Each answer is whole and replaces the one before. A stage that only a newer mesh knows is a number here.
		stages = append(stages, strings.ToLower(strings.TrimPrefix(answer.Stage.String(), "RECALL_STAGE_")))
	}
	fmt.Println("streamed:", strings.Join(stages, ", "))
	return nil
}

func (t tour) retainInBulk(ctx context.Context) error {
	batches := []*pb.RetainRequest{
		{BankId: t.bank, RequestId: "log-1", Items: []*pb.RetainItem{{Content: text("Nadia: The oven is hot at five.")}}},
		{BankId: t.bank, RequestId: "log-2", Items: []*pb.RetainItem{{Content: text("Leo: Pixel sleeps on the sofa.")}}},
	}
	stream, err := t.retain.RetainBulk(ctx)
	if err != nil {
		return err
	}
	// Whoever has much to say sends while reading: a mesh that is busy holds the sender back.
	go func() {
		for _, batch := range batches {
			if stream.Send(&pb.RetainBulkRequest{Retain: batch}) != nil {
				return // Recv tells why.
			}
		}
		_ = stream.CloseSend()
	}()
	kept := 0
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch outcome := answer.Outcome.(type) {
		case *pb.RetainBulkResponse_Retained:
			kept++
		case *pb.RetainBulkResponse_Failure:
			fmt.Fprintf(os.Stderr, "batch %s: %s\n", answer.RequestId, outcome.Failure.Message)
		}
	}
	fmt.Printf("bulk: %d of %d batches kept\n", kept, len(batches))
	return nil
}

func (t tour) askForABankThatIsNotThere(ctx context.Context) error {
	_, err := t.banks.GetBank(ctx, &pb.GetBankRequest{BankId: t.bank + "-not-there"})
	// Programmes decide by the reason: the message is for people, and may be worded anew.
	if reason := recallmesh.ErrorInfo(err).Reason; reason != "BANK_NOT_FOUND" {
		return fmt.Errorf("a bank that is not there was answered with: %w", err)
	}
	fmt.Println("error:", name(err), recallmesh.ErrorInfo(err).Reason)
	return nil
}

func (t tour) askWithoutTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := t.recall.Recall(ctx, &pb.RecallRequest{BankId: t.bank, Query: "Who is Pixel?"})
	if status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("a millisecond was enough, or: %w", err)
	}
	fmt.Println("deadline:", name(err))
	return nil
}

func (t tour) deleteBank(ctx context.Context) error {
	if _, err := t.banks.DeleteBank(ctx, &pb.DeleteBankRequest{BankId: t.bank}); err != nil {
		return err
	}
	fmt.Println("deleted:", t.bank)
	return nil
}

// name returns an error's code as every language writes it: NOT_FOUND.
func name(err error) string {
	return code.Code(status.Code(err)).String()
}

// sentence says for people what went wrong, and what they can do.
func sentence(err error, address string) string {
	info := recallmesh.ErrorInfo(err)
	if status.Code(err) == codes.Unavailable && info.Reason == "" {
		return fmt.Sprintf("UNAVAILABLE: no mesh answers at %s. Start one with `recallmesh serve all`, or say where it is "+
			"in RECALLMESH_ADDRESS.", address)
	}
	said, is := status.FromError(err)
	if !is {
		return err.Error()
	}
	return fmt.Sprintf("%s %s: %s (request id %s)", name(err), info.Reason, said.Message(), info.Metadata["request_id"])
}
