// Package whole lets the AWS SDK repeat a call whose answer did not arrive whole.
//
// The SDK repeats a call that was answered with a server's fault, and one whose
// connection broke before the answer. It does not repeat one whose answer broke
// off, and it does not notice one whose body was lost: no body is read as an
// answer in which every field is missing, so that a lost row is a row that was
// never written. With Answers among the options of a client or of a call, both
// are errors that the SDK's retryer counts among those to repeat, within its own
// bounds, and that are ErrTorn when it gives up.
//
// A call that was answered by half may have been carried out: a call that must
// not be repeated is made with aws.NopRetryer, as ever.
package whole
