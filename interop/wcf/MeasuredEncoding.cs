using System;
using System.IO;
using System.ServiceModel.Channels;
using System.Text;
using System.Threading;
using System.Xml;

namespace Soapstone.Interop {
    /// <summary>Text as WCF's own encoder reads and writes it, of any length, with its bytes counted.</summary>
    sealed class MeasuredEncoding : MessageEncodingBindingElement {
        static long octets;
        readonly TextMessageEncodingBindingElement text;

        public MeasuredEncoding(MessageVersion version) {
            text = new TextMessageEncodingBindingElement(version, new UTF8Encoding(false));
            XmlDictionaryReaderQuotas.Max.CopyTo(text.ReaderQuotas);
        }

        /// <summary>The bytes of all messages since the beginning.</summary>
        public static long Octets {
            get { return Interlocked.Read(ref octets); }
        }

        public static void Begin() {
            Interlocked.Exchange(ref octets, 0);
        }

        public override MessageVersion MessageVersion {
            get { return text.MessageVersion; }
            set { text.MessageVersion = value; }
        }

        public override BindingElement Clone() {
            return new MeasuredEncoding(MessageVersion);
        }

        public override MessageEncoderFactory CreateMessageEncoderFactory() {
            return new Factory(text.CreateMessageEncoderFactory());
        }

        public override IChannelFactory<Channel> BuildChannelFactory<Channel>(BindingContext context) {
            context.BindingParameters.Add(this);
            return context.BuildInnerChannelFactory<Channel>();
        }

        public override bool CanBuildChannelFactory<Channel>(BindingContext context) {
            return context.CanBuildInnerChannelFactory<Channel>();
        }

        public override IChannelListener<Channel> BuildChannelListener<Channel>(BindingContext context) {
            context.BindingParameters.Add(this);
            return context.BuildInnerChannelListener<Channel>();
        }

        public override bool CanBuildChannelListener<Channel>(BindingContext context) {
            return context.CanBuildInnerChannelListener<Channel>();
        }

        public override Property GetProperty<Property>(BindingContext context) {
            return text.GetProperty<Property>(context);
        }

        sealed class Factory : MessageEncoderFactory {
            readonly MessageEncoderFactory text;
            readonly MessageEncoder encoder;

            public Factory(MessageEncoderFactory text) {
                this.text = text;
                encoder = new Encoding(text.Encoder);
            }

            public override MessageEncoder Encoder {
                get { return encoder; }
            }

            public override MessageVersion MessageVersion {
                get { return text.MessageVersion; }
            }
        }

        sealed class Encoding : MessageEncoder {
            readonly MessageEncoder text;

            public Encoding(MessageEncoder text) {
                this.text = text;
            }

            public override string ContentType {
                get { return text.ContentType; }
            }

            public override string MediaType {
                get { return text.MediaType; }
            }

            public override MessageVersion MessageVersion {
                get { return text.MessageVersion; }
            }

            public override Message ReadMessage(Stream stream, int largestHeader, string contentType) {
                var read = new MemoryStream();
                stream.CopyTo(read);
                Interlocked.Add(ref octets, read.Length);
                read.Position = 0;
                return text.ReadMessage(read, largestHeader, contentType);
            }

            public override Message ReadMessage(ArraySegment<byte> read, BufferManager manager, string contentType) {
                Interlocked.Add(ref octets, read.Count);
                return text.ReadMessage(read, manager, contentType);
            }

            public override void WriteMessage(Message message, Stream stream) {
                var written = new MemoryStream();
                text.WriteMessage(message, written);
                Interlocked.Add(ref octets, written.Length);
                written.WriteTo(stream);
            }

            public override ArraySegment<byte> WriteMessage(Message message, int largest, BufferManager manager, int offset) {
                var written = text.WriteMessage(message, largest, manager, offset);
                Interlocked.Add(ref octets, written.Count);
                return written;
            }
        }
    }
}
