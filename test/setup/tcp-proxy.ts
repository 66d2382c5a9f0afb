/** A loopback proxy that a test can make fail: between a client and a server that know nothing of it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What becomes of bytes that a client sends: passed on, passed on or not and then cut, or dropped without a word. */
export type Verdict = 'pass' | 'pass and cut' | 'cut' | 'swallow';

export class TcpProxy {
  /** Asked about everything that clients send. */
  judge: (sent: Buffer) => Verdict = () => 'pass';
  /** New connections are cut at once. */
  refuses = false;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client: Socket) => this.#join(client, targetPort));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket, targetPort: number): void {
    if (this.refuses) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    let isCut = false;
    for (const socket of [client, target]) {
      this.#sockets.add(socket);
      // The other side learns of it by its own end.
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    }
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
    // After a cut the server's answer is awaited, so that it has done what it was asked, and dropped.
    target.on('data', (bytes) => {
      if (isCut) client.destroy();
      else client.write(bytes);
    });
    client.on('data', (bytes) => {
      const verdict = this.judge(bytes);
      if (verdict === 'cut') {
        client.destroy();
        return;
      }
      if (verdict === 'swallow') return;
      isCut ||= verdict === 'pass and cut';
      target.write(bytes);
    });
  }
}
