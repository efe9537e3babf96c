// Serves dynalite on a free loopback port, says where, and ends with its stdin.
const server = require('dynalite')({ createTableMs: 50, deleteTableMs: 50 })
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
