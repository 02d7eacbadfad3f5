package soapstone.interop;

import java.io.ByteArrayOutputStream;
import java.net.URL;
import java.util.Map;

import javax.xml.namespace.QName;

import jakarta.xml.bind.JAXBContext;

import org.apache.cxf.endpoint.Client;
import org.apache.cxf.jaxb.JAXBDataBinding;
import org.apache.cxf.jaxws.endpoint.dynamic.JaxWsDynamicClientFactory;
import org.apache.cxf.jaxws.interceptors.WrapperClassInInterceptor;
import org.apache.cxf.service.model.BindingOperationInfo;
import org.w3c.dom.Document;

/** A client whose classes are generated from the WSDL, compiled and loaded. */
final class Generated implements Calling.Caller {
    private final Client client;

    Generated(URL wsdl, QName service, QName port) {
        client = JaxWsDynamicClientFactory.newInstance().createClient(wsdl, service, port);
        // Keeps answers in one piece, instead of taking them apart into results.
        client.getEndpoint().getInInterceptors().removeIf(WrapperClassInInterceptor.class::isInstance);
    }

    @Override
    public Client client() {
        return client;
    }

    @Override
    public Map<String, Object> context() {
        return client.getRequestContext();
    }

    /** Reads the payload into an object of the generated classes, and writes the object that comes back. */
    @Override
    public byte[] call(Document payload) throws Exception {
        JAXBContext classes = ((JAXBDataBinding) client.getEndpoint().getService().getDataBinding()).getContext();
        Object request = classes.createUnmarshaller().unmarshal(payload);
        BindingOperationInfo operation = client.getEndpoint().getBinding().getBindingInfo().getOperations().iterator().next();
        Object[] answer = client.invokeWrapped(operation.getName(), request);
        ByteArrayOutputStream octets = new ByteArrayOutputStream();
        classes.createMarshaller().marshal(answer[0], octets);
        return octets.toByteArray();
    }
}
