package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import javax.xml.namespace.QName;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Source;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

import jakarta.xml.soap.SOAPMessage;
import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Dispatch;
import jakarta.xml.ws.Service;

/** Calls a service the way its WSDL says. */
final class Calling {
    private Calling() {
    }

    /** Sends a payload or an envelope, as often as is said, and writes that of the last answer. */
    static void call(Options options, Path request, Path answer) throws Exception {
        if (options.optional("trust") != null) {
            Tls.trust(options.required("trust"));
        }
        Showing.as(options);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(new Configuration(Path.of(options.required("configuration")), before));
        try {
            Service service = Service.create(location(options.required("wsdl")), QName.valueOf(options.required("service")));
            QName port = QName.valueOf(options.required("port"));
            Caller caller = options.is("whole") ? whole(service, port) : payload(service, port);
            Dispatch<?> dispatch = caller.dispatch();
            Map<String, Object> context = dispatch.getRequestContext();
            context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, options.required("address"));
            context.put(BindingProvider.SOAPACTION_USE_PROPERTY, true);
            context.put(BindingProvider.SOAPACTION_URI_PROPERTY, options.required("action"));
            try {
                byte[] octets = Files.readAllBytes(request);
                int calls = Integer.parseInt(options.optional("calls", "1"));
                for (int call = 0; call < calls; call++) {
                    if (call > 0) {
                        Thread.sleep(Long.parseLong(options.optional("pause", "0")));
                    }
                    Files.write(answer, caller.call().of(new StreamSource(new ByteArrayInputStream(octets))));
                }
            } finally {
                // Ends conversations, too.
                ((AutoCloseable) dispatch).close();
            }
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    /** What sends a request, and the octets of the answer. */
    private record Caller(Dispatch<?> dispatch, Call call) {
    }

    @FunctionalInterface
    private interface Call {
        byte[] of(Source request) throws Exception;
    }

    private static Caller payload(Service service, QName port) {
        Dispatch<Source> dispatch = service.createDispatch(port, Source.class, Service.Mode.PAYLOAD);
        return new Caller(dispatch, request -> write(dispatch.invoke(request)));
    }

    private static Caller whole(Service service, QName port) {
        Dispatch<SOAPMessage> dispatch = service.createDispatch(port, SOAPMessage.class, Service.Mode.MESSAGE);
        boolean soap12 = port.getLocalPart().contains("Soap12");
        return new Caller(dispatch, request -> Enclosing.write(dispatch.invoke(Enclosing.message(request, soap12))));
    }

    /** The octets of a payload, without an XML declaration. */
    private static byte[] write(Source source) throws TransformerException {
        ByteArrayOutputStream octets = new ByteArrayOutputStream();
        Transformer transformer = TransformerFactory.newInstance().newTransformer();
        transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        transformer.transform(source, new StreamResult(octets));
        return octets.toByteArray();
    }

    private static URL location(String text) throws Exception {
        return text.contains("://") ? URI.create(text).toURL() : Path.of(text).toUri().toURL();
    }
}
