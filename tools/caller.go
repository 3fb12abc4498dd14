package tools

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// useID is where Claude Code puts the model's own id of a call.
const useID = "claudecode/toolUseId"

// callerOf is who asks, as far as the protocol tells. Both eras are asked: the
// newer one names the client in every request, the older one in its handshake.
func callerOf(ctx context.Context, request mcp.CallToolRequest, args map[string]any) keeper.Caller {
	caller := keeper.Caller{Via: "mcp", Tool: request.Params.Name, Args: withoutSecrets(args)}
	if meta := request.Params.Meta; meta != nil {
		caller.UseID, _ = meta.GetMetaField(useID).(string)
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		caller.Client = clientName(*info.ClientInfo)
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		caller.Client = clientName(session.GetClientInfo())
	}
	return caller
}

func clientName(i mcp.Implementation) string {
	if i.Version == "" {
		return i.Name
	}
	return i.Name + " " + i.Version
}
