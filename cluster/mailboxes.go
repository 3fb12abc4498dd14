package cluster

import (
	"context"
	"fmt"
	"net/url"
)

// maxListed is how many mailboxes one look takes.
const maxListed = 10_000

// A lister is a flavor whose nodes list the mailboxes of mq9.
type lister interface {
	mailboxes(ctx context.Context, n *Node, page string, into any) error
}

// Mailboxes are those that a node lists, by address, of which match is a part.
// It is one look at the node's own page; ErrUnsupported where it has none.
func (c *Cluster) Mailboxes(ctx context.Context, n *Node, match string) ([]string, error) {
	l, ok := c.flavor.(lister)
	if !ok {
		return nil, fmt.Errorf("list the mailboxes of %s: %s has no such list: %w", n.name, c.info.Flavor, ErrUnsupported)
	}
	var list struct {
		Rows []struct {
			Address string `json:"mail_address"`
		} `json:"data"`
	}
	page := fmt.Sprintf("/api/mq9/mail/list?limit=%d&mail_address=%s", maxListed, url.QueryEscape(match))
	if err := l.mailboxes(ctx, n, page, &list); err != nil {
		return nil, fmt.Errorf("list the mailboxes of %s: %w", n.name, err)
	}
	names := make([]string, len(list.Rows))
	for i, r := range list.Rows {
		names[i] = r.Address
	}
	return names, nil
}
