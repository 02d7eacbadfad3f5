using System;
using System.IO;
using System.ServiceModel.Channels;
using System.Xml;

namespace Soapstone.Interop {
    /// <summary>
    /// Text as WCF's own encoder writes it. What it reads stays as it was: Mono verifies signatures over a message that it has written
    /// again before, with prefixes of its own, so that only those of a stack with the same prefixes hold.
    /// With a folder, it records there what a service reads and writes.
    /// </summary>
    sealed class VerbatimEncoding : AroundText {
        readonly string folder;

        public VerbatimEncoding(MessageVersion version, string folder) : base(version) {
            this.folder = folder;
        }

        public override BindingElement Clone() {
            return new VerbatimEncoding(MessageVersion, folder);
        }

        protected override MessageEncoder Around(MessageEncoder encoder) {
            return new Encoding(encoder, folder);
        }

        new sealed class Encoding : AroundText.Encoding {
            readonly string folder;

            public Encoding(MessageEncoder text, string folder) : base(text) {
                this.folder = folder;
            }

            public override Message ReadMessage(Stream stream, int largestHeader, string contentType) {
                var octets = new MemoryStream();
                stream.CopyTo(octets);
                Record("request", octets.ToArray());
                octets.Position = 0;
                var document = new XmlDocument { PreserveWhitespace = true };
                document.Load(octets);
                return new Verbatim(document, MessageVersion);
            }

            public override Message ReadMessage(ArraySegment<byte> octets, BufferManager manager, string contentType) {
                return ReadMessage(new MemoryStream(octets.Array, octets.Offset, octets.Count), int.MaxValue, contentType);
            }

            public override void WriteMessage(Message message, Stream stream) {
                var octets = new MemoryStream();
                text.WriteMessage(message, octets);
                Record("response", octets.ToArray());
                octets.WriteTo(stream);
            }

            public override ArraySegment<byte> WriteMessage(Message message, int largest, BufferManager manager, int offset) {
                var written = new MemoryStream();
                WriteMessage(message, written);
                var octets = manager.TakeBuffer(offset + (int) written.Length);
                written.ToArray().CopyTo(octets, offset);
                return new ArraySegment<byte>(octets, offset, (int) written.Length);
            }

            void Record(string what, byte[] octets) {
                if (folder == null) {
                    return;
                }
                Directory.CreateDirectory(folder);
                var number = Directory.GetFiles(folder, "*." + what + ".xml").Length + 1;
                File.WriteAllBytes(Path.Combine(folder, number + "." + what + ".xml"), octets);
            }
        }

        /// <summary>A message that is written as it was read.</summary>
        sealed class Verbatim : Message {
            readonly XmlDocument document;
            readonly Message parsed;

            public Verbatim(XmlDocument document, MessageVersion version) {
                this.document = document;
                parsed = Message.CreateMessage(new XmlNodeReader(document.DocumentElement), int.MaxValue, version);
            }

            public override MessageHeaders Headers {
                get { return parsed.Headers; }
            }

            public override MessageProperties Properties {
                get { return parsed.Properties; }
            }

            public override MessageVersion Version {
                get { return parsed.Version; }
            }

            protected override void OnWriteMessage(XmlDictionaryWriter writer) {
                writer.WriteNode(new XmlNodeReader(document.DocumentElement), false);
            }

            protected override void OnWriteBodyContents(XmlDictionaryWriter writer) {
                parsed.WriteBodyContents(writer);
            }

            protected override XmlDictionaryReader OnGetReaderAtBodyContents() {
                return parsed.GetReaderAtBodyContents();
            }

            protected override MessageBuffer OnCreateBufferedCopy(int largest) {
                return new Copies(document, this);
            }
        }

        sealed class Copies : MessageBuffer {
            readonly XmlDocument document;
            readonly MessageVersion version;
            readonly MessageProperties properties;
            readonly string action;
            readonly Uri to;

            public Copies(XmlDocument document, Message message) {
                this.document = document;
                version = message.Version;
                properties = new MessageProperties(message.Properties);
                action = message.Headers.Action;
                to = message.Headers.To;
            }

            public override int BufferSize {
                get { return document.OuterXml.Length; }
            }

            public override Message CreateMessage() {
                var message = new Verbatim(document, version);
                message.Properties.CopyProperties(properties);
                // What the transport has added.
                message.Headers.Action = message.Headers.Action ?? action;
                message.Headers.To = message.Headers.To ?? to;
                return message;
            }

            public override void Close() {
            }
        }
    }
}
