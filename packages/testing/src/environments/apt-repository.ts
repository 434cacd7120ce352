import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A package of the test's own. */
export interface TestPackage {
  readonly name: string
  readonly depends?: string
  /** Contents by absolute path; those in a `bin` can be executed. */
  readonly files?: Readonly<Record<string, string>>
  /** A shell script that runs as root once the package is unpacked. */
  readonly postinst?: string
}

/** A real repository of Debian packages on loopback. */
export class AptRepository implements AsyncDisposable {
  readonly #server: Server
  readonly #dir: string
  readonly #packages: Map<string, Buffer>
  /** Paths that were asked for. */
  readonly requests: string[] = []

  static async open(packages: readonly TestPackage[]): Promise<AptRepository> {
    const dir = await mkdtemp(join(tmpdir(), 'berth-apt-'))
    const files = new Map<string, Buffer>()
    const index: string[] = []
    for (const entry of packages) {
      const content = await built(join(dir, entry.name), entry)
      const name = `${entry.name}_1.0_all.deb`
      files.set(name, content)
      const sha256 = createHash('sha256').update(content).digest('hex')
      index.push(`${control(entry)}Filename: ${name}\nSize: ${content.length}\nSHA256: ${sha256}\n`)
    }
    files.set('Packages', Buffer.from(index.join('\n')))
    const repository = new AptRepository(dir, files)
    repository.#server.listen(0, '127.0.0.1')
    await once(repository.#server, 'listening')
    const { port } = repository.#server.address() as AddressInfo
    await writeFile(repository.sources, `deb [trusted=yes] http://127.0.0.1:${port}/ ./\n`)
    return repository
  }

  private constructor(dir: string, packages: Map<string, Buffer>) {
    this.#dir = dir
    this.#packages = packages
    this.#server = createServer(({ url = '' }, answer) => {
      const name = url.replace(/^[/.]*/, '')
      this.requests.push(name)
      const content = this.#packages.get(name)
      if (content === undefined) answer.writeHead(404).end()
      else answer.writeHead(200, { 'content-length': content.length }).end(content)
    })
  }

  /** The file for `BERTH_PACKAGE_SOURCES`. */
  get sources(): string {
    return join(this.#dir, 'test.list')
  }

  /** How often a package was fetched. */
  fetched(name: string): number {
    return this.requests.filter(each => each.startsWith(`${name}_`)).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
    await rm(this.#dir, { recursive: true, force: true })
  }
}

const control = ({ name, depends }: TestPackage) =>
  `Package: ${name}\nVersion: 1.0\nArchitecture: all\nMaintainer: Test <test@example.com>\n${depends === undefined ? '' : `Depends: ${depends}\n`}Description: a package of a test\n`

async function built(dir: string, entry: TestPackage): Promise<Buffer> {
  const write = async (path: string, content: string, mode: number) => {
    await mkdir(dirname(join(dir, path)), { recursive: true, mode: 0o755 })
    await writeFile(join(dir, path), content)
    await chmod(join(dir, path), mode)
  }
  await write('DEBIAN/control', control(entry), 0o644)
  if (entry.postinst !== undefined) await write('DEBIAN/postinst', `#!/bin/sh\n${entry.postinst}\n`, 0o755)
  for (const [path, content] of Object.entries(entry.files ?? {}))
    await write(path, content, path.includes('/bin/') ? 0o755 : 0o644)
  await run('dpkg-deb', ['--root-owner-group', '--build', dir, `${dir}.deb`])
  return await readFile(`${dir}.deb`)
}
