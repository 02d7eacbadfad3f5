package soapstone.interop;

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

import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Dispatch;
import jakarta.xml.ws.Service;

/** Calls a service the way its WSDL says. */
final class Calling {
    private Calling() {
    }

    /** Sends a payload, as often as is said, and writes the payload of the last answer. */
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
            Dispatch<Source> dispatch =
                service.createDispatch(QName.valueOf(options.required("port")), Source.class, Service.Mode.PAYLOAD);
            Map<String, Object> context = dispatch.getRequestContext();
            context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, options.required("address"));
            context.put(BindingProvider.SOAPACTION_USE_PROPERTY, true);
            context.put(BindingProvider.SOAPACTION_URI_PROPERTY, options.required("action"));
            try {
                int calls = Integer.parseInt(options.optional("calls", "1"));
                for (int call = 0; call < calls; call++) {
                    if (call > 0) {
                        Thread.sleep(Long.parseLong(options.optional("pause", "0")));
                    }
                    Source payload = dispatch.invoke(new StreamSource(request.toFile()));
                    Files.write(answer, write(payload));
                }
            } finally {
                // Ends conversations, too.
                ((AutoCloseable) dispatch).close();
            }
        } finally {
            thread.setContextClassLoader(before);
        }
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
