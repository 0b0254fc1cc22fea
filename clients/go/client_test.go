package recallmesh_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	recallmesh "github.com/recallmesh/recallmesh/clients/go"
	pb "github.com/recallmesh/recallmesh/clients/go/gen/recallmesh/v1"
)

// mesh keeps what it was asked for, and refuses a retain as often as it is told to.
type mesh struct {
	pb.UnimplementedRetainServiceServer
	refuses int
	ids     []string
	keys    []string
	left    time.Duration
}

func (m *mesh) Retain(ctx context.Context, request *pb.RetainRequest) (*pb.RetainResponse, error) {
	deadline, _ := ctx.Deadline()
	m.left = time.Until(deadline)
	m.ids = append(m.ids, request.RequestId)
	m.keys = metadata.ValueFromIncomingContext(ctx, "authorization")
	if m.refuses > 0 {
		m.refuses--
		return nil, status.Error(codes.Unavailable, "not now")
	}
	return &pb.RetainResponse{}, nil
}

func dial(t *testing.T, served *mesh, key string) pb.RetainServiceClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterRetainServiceServer(server, served)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := recallmesh.Dial(listener.Addr().String(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return pb.NewRetainServiceClient(connection)
}

func TestARepeatedWriteHasOneRequestIDAndTheCallersMessageNone(t *testing.T) {
	served := &mesh{refuses: 2}
	request := &pb.RetainRequest{BankId: "diary"}
	client := dial(t, served, "")
	for range 2 {
		if _, err := client.Retain(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
	ids := served.ids
	if len(ids) != 4 || ids[0] == "" || ids[0] != ids[1] || ids[0] != ids[2] || ids[3] == ids[0] {
		t.Errorf("three tries of one call and one of another had the request ids %q", ids)
	}
	if request.RequestId != "" {
		t.Errorf("the caller's message got the request id %q", request.RequestId)
	}
}

func TestARequestIDOfTheCallersOwnIsKept(t *testing.T) {
	served := &mesh{}
	_, err := dial(t, served, "").Retain(context.Background(), &pb.RetainRequest{RequestId: "call-7"})
	if err != nil || served.ids[0] != "call-7" {
		t.Errorf("sent as %q: %v", served.ids, err)
	}
}

func TestAFourthTryIsNotMade(t *testing.T) {
	served := &mesh{refuses: 9}
	_, err := dial(t, served, "").Retain(context.Background(), &pb.RetainRequest{})
	if status.Code(err) != codes.Unavailable || len(served.ids) != 3 {
		t.Errorf("%d tries: %v", len(served.ids), err)
	}
}

func TestACallHasADeadlineAndTheCallersOwnCounts(t *testing.T) {
	served := &mesh{}
	client := dial(t, served, "")
	if _, err := client.Retain(context.Background(), &pb.RetainRequest{}); err != nil {
		t.Fatal(err)
	}
	if served.left <= 0 || served.left > recallmesh.Timeout {
		t.Errorf("without a deadline it had %v", served.left)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if _, err := client.Retain(ctx, &pb.RetainRequest{}); err != nil {
		t.Fatal(err)
	}
	if served.left <= recallmesh.Timeout {
		t.Errorf("with an hour it had %v", served.left)
	}
}

func TestTheKeyIsSentAndNoneIsNot(t *testing.T) {
	for key, wanted := range map[string]int{"k": 1, "": 0} {
		served := &mesh{}
		if _, err := dial(t, served, key).Retain(context.Background(), &pb.RetainRequest{}); err != nil {
			t.Fatal(err)
		}
		if len(served.keys) != wanted || wanted == 1 && served.keys[0] != "Bearer k" {
			t.Errorf("with the key %q came %q", key, served.keys)
		}
	}
}

func TestWhatIsNotTheMeshsErrorHasNoReason(t *testing.T) {
	if info := recallmesh.ErrorInfo(status.Error(codes.NotFound, "a proxy's")); info.Reason != "" {
		t.Errorf("the reason %q", info.Reason)
	}
}
