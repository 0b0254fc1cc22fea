// Package recallmesh opens connections to a mesh that behave as those of its other clients do: every call has a
// deadline, carries the key and, where it writes, a request id, and is repeated where that does no harm.
package recallmesh

import (
	"context"
	"crypto/rand"
	_ "embed"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // Lets connections turn away from servers that leave.
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// Timeout is the deadline of a call whose context has none.
	Timeout = 30 * time.Second
	// StreamTimeout is the deadline of a stream whose context has none.
	StreamTimeout = time.Hour

	domain = "recallmesh"
)

//go:embed gen/service_config.json
var serviceConfig string

// Dial returns a connection to the mesh at a gRPC target such as "127.0.0.1:7070" or "dns:///mesh:7070"; it connects
// with the first call. An empty key sends none. Nothing is encrypted unless the options bring transport credentials.
func Dial(address, key string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithChainUnaryInterceptor(unary(key)),
		grpc.WithChainStreamInterceptor(stream(key)),
	}, options...)...)
}

// ErrorInfo returns what the mesh says of an error to programmes: its reason, such as BANK_NOT_FOUND, and in the
// metadata the request id under which the server's log has it. It is empty for errors that are not the mesh's.
func ErrorInfo(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, is := detail.(*errdetails.ErrorInfo); is && info.Domain == domain {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

func unary(key string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ctx, cancel := prepared(ctx, key, Timeout)
		defer cancel()
		return invoke(ctx, method, identified(request), reply, connection, options...)
	}
}

func stream(key string) grpc.StreamClientInterceptor {
	return func(ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn, method string,
		open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, cancel := prepared(ctx, key, StreamTimeout)
		options = append(options, grpc.OnFinish(func(error) { cancel() }))
		opened, err := open(ctx, description, connection, method, options...)
		if err != nil {
			cancel()
		}
		return opened, err
	}
}

func prepared(ctx context.Context, key string, timeout time.Duration) (context.Context, context.CancelFunc) {
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// identified gives a request that may have a request id one, so that to repeat the call counts once.
func identified(request any) any {
	message, is := request.(proto.Message)
	if !is {
		return request
	}
	field := message.ProtoReflect().Descriptor().Fields().ByName("request_id")
	if field == nil || message.ProtoReflect().Has(field) {
		return request
	}
	// The caller's message stays as it is: it may be sent again, and that is another call.
	message = proto.Clone(message)
	message.ProtoReflect().Set(field, protoreflect.ValueOfString(rand.Text()))
	return message
}
