package soapstone.interop;

import java.io.ByteArrayOutputStream;
import java.io.IOException;

import javax.xml.transform.Source;

import jakarta.xml.soap.MessageFactory;
import jakarta.xml.soap.SOAPBody;
import jakarta.xml.soap.SOAPConstants;
import jakarta.xml.soap.SOAPException;
import jakarta.xml.soap.SOAPMessage;
import jakarta.xml.ws.Provider;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.ServiceMode;
import jakarta.xml.ws.WebServiceException;
import jakarta.xml.ws.WebServiceProvider;
import org.w3c.dom.Node;

/**
 * Whole envelopes, as a Body may have nothing in it, of which no payload tells. The service answers with the Body that it got.
 */
@WebServiceProvider
@ServiceMode(Service.Mode.MESSAGE)
final class Enclosing implements Provider<SOAPMessage> {
    @Override
    public SOAPMessage invoke(SOAPMessage request) {
        try {
            String namespace = request.getSOAPPart().getEnvelope().getNamespaceURI();
            String protocol = protocol(namespace.equals(SOAPConstants.URI_NS_SOAP_1_2_ENVELOPE));
            SOAPMessage answer = MessageFactory.newInstance(protocol).createMessage();
            SOAPBody body = answer.getSOAPBody();
            for (Node child = request.getSOAPBody().getFirstChild(); child != null; child = child.getNextSibling()) {
                body.appendChild(body.getOwnerDocument().importNode(child, true));
            }
            return answer;
        } catch (SOAPException e) {
            throw new WebServiceException(e);
        }
    }

    /** A message with that envelope. */
    static SOAPMessage message(Source envelope, boolean soap12) throws SOAPException {
        SOAPMessage message = MessageFactory.newInstance(protocol(soap12)).createMessage();
        message.getSOAPPart().setContent(envelope);
        return message;
    }

    /** The octets of an envelope. */
    static byte[] write(SOAPMessage message) throws IOException, SOAPException {
        ByteArrayOutputStream octets = new ByteArrayOutputStream();
        message.writeTo(octets);
        return octets.toByteArray();
    }

    private static String protocol(boolean soap12) {
        return soap12 ? SOAPConstants.SOAP_1_2_PROTOCOL : SOAPConstants.SOAP_1_1_PROTOCOL;
    }
}
