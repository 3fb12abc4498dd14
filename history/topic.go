package history

import "strings"

// Matches reports whether a topic filter of MQTT matches a topic name (MQTT
// 3.1.1 section 4.7): + is one level, a final # any number of them with their
// parent, and neither of the two matches a leading $ [MQTT-4.7.2-1]. The
// prefix of a shared subscription, $share/GROUP/, is looked through.
func Matches(filter, topic string) bool {
	if _, rest, shared := CutShare(filter); shared {
		filter = rest
	}
	if strings.HasPrefix(topic, "$") && (strings.HasPrefix(filter, "+") || strings.HasPrefix(filter, "#")) {
		return false
	}
	return matchLevels(filter, topic)
}

func matchLevels(filter, topic string) bool {
	for {
		if filter == "#" {
			return true
		}
		f, restF, moreF := strings.Cut(filter, "/")
		t, restT, moreT := strings.Cut(topic, "/")
		switch {
		case f != "+" && f != t:
			return false
		case !moreT:
			return !moreF || restF == "#"
		case !moreF:
			return false
		}
		filter, topic = restF, restT
	}
}

// CutShare splits the filter of a shared subscription, $share/GROUP/FILTER (MQTT 5.0
// section 4.8.2). It returns any other filter whole as rest.
func CutShare(filter string) (group, rest string, shared bool) {
	rest, shared = strings.CutPrefix(filter, "$share/")
	if !shared {
		return "", filter, false
	}
	return strings.Cut(rest, "/")
}
