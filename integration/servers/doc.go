// Package servers starts DynamoDB servers that this project did not write, so
// that its tests meet other people's reading of the protocol: moto (Python) and
// dynalite (Node.js), each as a process on a free loopback port, and kumo (Go)
// inside this process. install.sh installs the first two, pinned.
//
// Everything else of the package needs the build tag integration.
//
// # Guarantees
//
//   - A started server has answered a request.
//   - Stop ends the process it started, by its own pid, and waits for it. A
//     server also ends by itself when the process that started it is gone,
//     however that ended, since it reads its standard input to the end.
//
// # Concurrency
//
// Start and Stop may be called from any goroutine.
package servers
