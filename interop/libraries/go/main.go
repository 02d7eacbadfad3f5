// goxmldsig as a WS-Security client writes with it: one call of Echo, told in one line of JSON.
//
//	client ADDRESS OPTIONS     OPTIONS is JSON: soap, key, certificate, enveloped, namespace, text
package main

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

const (
	wsse   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	soap11 = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12 = "http://www.w3.org/2003/05/soap-envelope"
)

type options struct {
	Soap        string `json:"soap"`
	Key         string `json:"key"`
	Certificate string `json:"certificate"`
	Enveloped   bool   `json:"enveloped"`
	Namespace   string `json:"namespace"`
	Text        string `json:"text"`
}

type result struct {
	Passed bool   `json:"passed"`
	Fault  bool   `json:"fault"`
	Error  string `json:"error,omitempty"`
}

// envelope has a Body with an ID without a namespace, and a signature over it in the Security header.
func envelope(wanted options) ([]byte, error) {
	namespace := soap11
	if wanted.Soap == "12" {
		namespace = soap12
	}
	document := etree.NewDocument()
	root := document.CreateElement("soap:Envelope")
	root.CreateAttr("xmlns:soap", namespace)
	security := root.CreateElement("soap:Header").CreateElement("wsse:Security")
	security.CreateAttr("xmlns:wsse", wsse)
	body := root.CreateElement("soap:Body")
	body.CreateAttr("ID", "body")
	echo := body.CreateElement("e:Echo")
	echo.CreateAttr("xmlns:e", wanted.Namespace)
	echo.CreateElement("e:text").SetText(wanted.Text)
	// What is signed declares what it uses.
	apart := body.Copy()
	apart.CreateAttr("xmlns:soap", namespace)
	pair, err := tls.LoadX509KeyPair(wanted.Certificate, wanted.Key)
	if err != nil {
		return nil, err
	}
	context, err := dsig.NewSigningContext(pair.PrivateKey.(crypto.Signer), [][]byte{pair.Certificate[0]})
	if err != nil {
		return nil, err
	}
	context.IdAttribute = "ID"
	context.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	signature, err := context.ConstructSignature(apart, wanted.Enveloped)
	if err != nil {
		return nil, err
	}
	security.AddChild(signature)
	return document.WriteToBytes()
}

func call(address string, wanted options) result {
	message, err := envelope(wanted)
	if err != nil {
		return result{Error: err.Error()}
	}
	media := "text/xml; charset=utf-8"
	if wanted.Soap == "12" {
		media = "application/soap+xml; charset=utf-8"
	}
	answer, err := http.Post(address, media, bytes.NewReader(message))
	if err != nil {
		return result{Error: err.Error()}
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		return result{Error: err.Error()}
	}
	if answer.StatusCode != http.StatusOK || echoed(read) != wanted.Text {
		return result{Fault: strings.Contains(string(read), "Fault>"), Error: fmt.Sprintf("%s %s", answer.Status, read)}
	}
	return result{Passed: true}
}

// The text of an answer, or nothing.
func echoed(answer []byte) string {
	document := etree.NewDocument()
	if document.ReadFromBytes(answer) != nil {
		return ""
	}
	if text := document.FindElement("//Body//text"); text != nil {
		return text.Text()
	}
	return ""
}

func main() {
	var wanted options
	outcome := result{}
	if err := json.Unmarshal([]byte(os.Args[2]), &wanted); err != nil {
		outcome.Error = err.Error()
	} else {
		outcome = call(os.Args[1], wanted)
	}
	line, _ := json.Marshal(outcome)
	fmt.Println(string(line))
}
