package soapstone.interop;

import javax.xml.transform.Source;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMResult;
import javax.xml.transform.dom.DOMSource;

import jakarta.xml.ws.Provider;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.ServiceMode;
import jakarta.xml.ws.WebServiceException;
import jakarta.xml.ws.WebServiceProvider;
import org.w3c.dom.Document;
import org.w3c.dom.Node;

/** The sample service Echo: what came in goes out, under the name of the answer. */
@WebServiceProvider
@ServiceMode(Service.Mode.PAYLOAD)
final class Echoing implements Provider<Source> {
    @Override
    public Source invoke(Source request) {
        DOMResult read = new DOMResult();
        try {
            TransformerFactory.newInstance().newTransformer().transform(request, read);
        } catch (TransformerException e) {
            throw new WebServiceException(e);
        }
        Document document = (Document) read.getNode();
        Node payload = document.getDocumentElement();
        document.renameNode(payload, payload.getNamespaceURI(), payload.getNodeName() + "Response");
        return new DOMSource(document);
    }
}
