package tools

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// logCall tells a client that listens to the log how a call ended. It returns whether
// a line was sent: a client gets those of the level it asked for, and none by default.
func (s *Server) logCall(ctx context.Context, tool string, answered *mcp.CallToolResult) bool {
	level := mcp.LoggingLevelInfo
	if answered.IsError {
		level = mcp.LoggingLevelWarning
	}
	if !level.ShouldSendTo(logLevel(ctx)) {
		return false
	}
	said := mcp.GetTextFromContent(answered.Content[0])
	if !answered.IsError {
		var a Answer
		text, _ := answered.StructuredContent.(json.RawMessage)
		_ = json.Unmarshal(text, &a) // conclude wrote it
		said = a.Summary
	}
	line := mcp.NewLoggingMessageNotification(level, "rmq-mcp", map[string]any{"tool": tool, "said": said})
	return s.mcp.SendLogMessageToClient(ctx, line) == nil
}

// logLevel is the one that a client asked for: with the request since the revision
// 2026-07-28 of the protocol, before it once for its session.
func logLevel(ctx context.Context) mcp.LoggingLevel {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.LogLevel
	}
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithLogging); ok {
		return session.GetLogLevel()
	}
	return ""
}
