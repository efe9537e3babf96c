module github.com/ackgate/ackgate/bench

go 1.26.0

replace github.com/ackgate/ackgate => ../

require github.com/ackgate/ackgate v0.0.0

require github.com/Jeffail/checkpoint v1.0.1 // indirect
