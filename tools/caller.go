package tools

import (
	"context"
	"encoding/json"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// useID is where Claude Code puts the model's own id of a call.
const useID = "claudecode/toolUseId"

// sessionEnv is where Claude Code tells a server over stdio which session it serves.
const sessionEnv = "CLAUDE_CODE_SESSION_ID"

// callerOf is who asks, as far as the protocol tells. Both eras are asked: the
// newer one names the client in every request, the older one in its handshake.
// The arguments are those that may be recorded.
func callerOf(ctx context.Context, request mcp.CallToolRequest, args map[string]any) keeper.Caller {
	caller := keeper.Caller{Via: "mcp", Tool: request.Params.Name, Args: args}
	if session := server.ClientSessionFromContext(ctx); session != nil && session.SessionID() == stdioSession {
		caller.Session = ownWords(os.Getenv(sessionEnv))
	}
	if meta := request.Params.Meta; meta != nil {
		caller.UseID, _ = meta.GetMetaField(useID).(string)
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		caller.Client = clientName(*info.ClientInfo)
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		caller.Client = clientName(session.GetClientInfo())
	}
	caller.Client, caller.UseID = ownWords(caller.Client), ownWords(caller.UseID)
	return caller
}

// ownWords are what a client says of itself, as it may be recorded.
func ownWords(text string) string {
	return plain.CutBytes(plain.Line(secret.New().Text(text)), mostName)
}

// mostName is how long a client's name may be, in bytes.
const mostName = 200

// introduced reports whether the client has said who it is: in the request, or by a
// handshake. Over HTTP nobody comes so far without.
func introduced(ctx context.Context) bool {
	session := server.ClientSessionFromContext(ctx)
	return server.RequestProtocolInfoFromContext(ctx) != nil || session == nil || session.SessionID() != stdioSession || session.Initialized()
}

// stdioSession is mcp-go's name of the one client over stdio.
const stdioSession = "stdio"

func clientName(i mcp.Implementation) string {
	if i.Version == "" {
		return i.Name
	}
	return i.Name + " " + i.Version
}

// argumentsOf decodes a call's arguments; it answers false if they are not an
// object. None are an empty object.
func argumentsOf(request mcp.CallToolRequest) (map[string]any, bool) {
	args := map[string]any{}
	raw := request.Params.RawArguments
	if raw == nil { // a client in this process
		text, err := json.Marshal(request.GetRawArguments())
		if err != nil {
			return args, false
		}
		raw = text
	}
	if err := unmarshal(raw, &args); err != nil {
		return map[string]any{}, false
	}
	return args, true
}
