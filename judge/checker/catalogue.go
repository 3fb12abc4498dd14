package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// An Entry is one claim with the checker that judges it.
type Entry struct {
	Claim         verdict.Claim
	Category      Category
	Checker       string   // name and version: loss@1
	Protocols     []string // that make the claim
	Rests         string   // the promise of a broker's vendor that it rests on; "" where none makes one
	New           func(Context) Checker
	NeedsComplete bool   // missing rows could explain what it finds, or hide it
	Timed         bool   // a host that stands still could explain what it finds
	Bounded       bool   // by what only a scenario's run has: a budget, a harness that lists mailboxes
	Notice        Notice // of its violation, in a run that does not claim it; none where that says nothing
	canary        func(Context) *mutation

	Sees      string                     // the part of the cluster that it needs to see: history.LacksLogs, …; "" for none
	Plain     bool                       // it looks at connections of the plain listener alone
	Shown     string                     // the thing that a driver must be able to show: contract.CannotDup, …; "" for none
	ByPackets string                     // why a violation may be none where packets are not recorded; "" where they need not be
	ByFault   bool                       // only a fault may bring about a violation
	ByHand    bool                       // it is judged of every cluster that is explored by hand
	Excused   map[string]string          // by type of fault: why it is not judged under one, unless it is asked
	Unjudged  func(Circumstances) string // why it is not judged in a run, unless it is asked; "" if it is; nil: it always is
}

// A Category is the kind of a promise.
type Category string

// Categories.
const (
	Safety      Category = "safety"      // nothing wrong happens
	Liveness    Category = "liveness"    // something right happens in time
	Durability  Category = "durability"  // acknowledged messages stay
	Idempotency Category = "idempotency" // a repetition has no second effect
	Ordering    Category = "ordering"    // before stays before
	Isolation   Category = "isolation"   // nobody gets what is not for them
	Operational Category = "operational" // running processes keep running
	Fairness    Category = "fairness"    // one does not live at the cost of others
)

var (
	mqtt  = []string{contract.MQTT3, contract.MQTT5}
	mq9   = []string{contract.MQ9}
	every = []string{contract.MQTT3, contract.MQTT5, contract.MQ9}
)

// All are the claims that can be judged.
var All = [...]Entry{
	claimQoS1NoLoss,
	claimQoS2NoLoss,
	claimQoS2ExactlyOnce,
	claimQoS0AtMostOnce,
	claimQoS1DupFlag,
	claimQoSGranted,
	claimNoUnexpected,
	claimNoCorruption,
	claimOrderPerStream,
	claimSessionKept,
	claimSessionFresh,
	claimSessionExpiry,
	claimWillOnce,
	claimSharedNoLoss,
	claimSharedOneMember,
	claimMQ9NoLoss,
	claimMQ9Fifo,
	claimMQ9Priority,
	claimMQ9AckKept,
	claimMQ9OneWorker,
	claimMQ9WorkersNoLoss,
	claimMQ9MessageTTL,
	claimMQ9MailboxTTL,
	claimMQ9MailboxList,
	claimProgress,
	claimDeliveryProgress,
	claimRecovery,
	claimFair,
	claimClientsConnect,
	claimNoPanic,
	claimNoExit,
	claimNoLeak,
	claimSteadyResources,
	claimRetainedRegister,
	claimBrokerAcks,
	claimBrokerQoS2Flow,
	claimBrokerPubrel,
	claimBrokerResendDup,
	claimBrokerResendID,
	claimBrokerPacketID,
	claimBrokerConnackFirst,
	claimSDKHonest,
	claimSDKDelivers,
	claimSDKOnce,
	claimSDKResendDup,
	claimSDKPacketID,
	claimSDKQoS2Flow,
	claimSDKPubcomp,
	claimSDKAckOrder,
	claimSDKResubscribes,
	claimSDKResumes,
	claimSDKLives,
}

// Promised are the claims that rest on a vendor's promises.
func Promised(promises []string) []string {
	claims := []string{}
	for _, e := range All {
		if slices.Contains(promises, e.Rests) {
			claims = append(claims, e.Claim.Name)
		}
	}
	return claims
}

// Find returns the entry of a claim.
func Find(claim string) (Entry, error) {
	var names []string
	for _, e := range All {
		if e.Claim.Name == claim {
			return e, nil
		}
		names = append(names, e.Claim.Name)
	}
	return Entry{}, fmt.Errorf("no claim %q%s", claim, near.Hint(claim, names, "; the claims are "+strings.Join(names, ", ")))
}
