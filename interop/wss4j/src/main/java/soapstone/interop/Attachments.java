package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.ext.Attachment;
import org.apache.wss4j.common.ext.AttachmentRequestCallback;
import org.apache.wss4j.common.ext.AttachmentResultCallback;

/**
 * The attachments of a message, in a folder: of each {@code N.id}, {@code N.content} and {@code N.headers}, a line for
 * each field with its name, a colon and its value.
 */
final class Attachments implements CallbackHandler {
    private static final String ALL = "Attachments";

    private final Map<String, Attachment> byId = new LinkedHashMap<>();

    /** Those of a folder; none, if there is no folder. */
    static Attachments of(String folder) throws IOException {
        Attachments read = new Attachments();
        for (int number = 0; folder != null && Files.exists(Path.of(folder, number + ".id")); number++) {
            Attachment attachment = new Attachment();
            attachment.setId(Files.readString(Path.of(folder, number + ".id")));
            for (String line : Files.readAllLines(Path.of(folder, number + ".headers"))) {
                int colon = line.indexOf(':');
                attachment.addHeader(line.substring(0, colon), line.substring(colon + 1).strip());
            }
            attachment.setMimeType(attachment.getHeaders().get("Content-Type"));
            byte[] content = Files.readAllBytes(Path.of(folder, number + ".content"));
            attachment.setSourceStream(new ByteArrayInputStream(content));
            read.byId.put(attachment.getId(), attachment);
        }
        return read;
    }

    /** What is to be protected of them, by content or as a whole. */
    static WSEncryptionPart part(String coverage) {
        return new WSEncryptionPart("cid:" + ALL, coverage.equals("complete") ? "Element" : "Content");
    }

    /** Writes them, as they are now, into a folder. */
    void write(String folder) throws IOException {
        Files.createDirectories(Path.of(folder));
        int number = 0;
        for (Attachment attachment : byId.values()) {
            Files.writeString(Path.of(folder, number + ".id"), attachment.getId());
            Files.write(Path.of(folder, number + ".content"), attachment.getSourceStream().readAllBytes());
            StringBuilder headers = new StringBuilder();
            Map<String, String> fields = new LinkedHashMap<>(attachment.getHeaders());
            if (attachment.getMimeType() != null) {
                fields.put("Content-Type", attachment.getMimeType());
            }
            fields.forEach((name, value) -> headers.append(name).append(':').append(value).append('\n'));
            Files.writeString(Path.of(folder, number + ".headers"), headers, StandardCharsets.UTF_8);
            number++;
        }
    }

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof AttachmentRequestCallback asked) {
                String id = asked.getAttachmentId();
                List<Attachment> found = new ArrayList<>();
                if (ALL.equals(id)) {
                    found.addAll(byId.values());
                } else if (byId.containsKey(id)) {
                    found.add(byId.get(id));
                }
                asked.setAttachments(found);
            } else if (callback instanceof AttachmentResultCallback result) {
                byId.put(result.getAttachmentId(), result.getAttachment());
            }
        }
    }
}
