// Package figures writes numbers as people read them.
package figures

import (
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Sprintf is [fmt.Sprintf] with separators in whole numbers of a thousand and more: 12,345.
func Sprintf(format string, args ...any) string {
	return message.NewPrinter(language.English).Sprintf(format, args...)
}
