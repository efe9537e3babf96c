package expr

var reserved = map[string]bool{}
