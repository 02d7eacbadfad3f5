module soapstone/interop/libraries

go 1.19

require (
	github.com/beevik/etree v1.1.0
	github.com/russellhaering/goxmldsig v1.4.0
)

require github.com/jonboulle/clockwork v0.2.2 // indirect
