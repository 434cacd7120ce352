import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterApi } from '../../packages/kubernetes/src/api/cluster-api.ts'
import {
  API,
  BRIDGE,
  clientConfiguration,
  containerdConfiguration,
  ETCD,
  kubeletConfiguration,
  NODE_ADDRESS,
  networkConfiguration,
  type Places,
} from './configuration.ts'

const TEMPORARY = '/run/tmp'
const READY_MS = 180_000
const NODE = 'berth-node'
/** Numbers of processes begin here, so that none of a test's is that of a process in a pod. */
const FIRST_PROCESS = 20_000

/** The programs of a cluster in the namespaces of this process, which they end with. */
export class ControlPlane {
  readonly api: ClusterApi
  /** A directory for temporary files that only these namespaces see. */
  readonly temporary = TEMPORARY
  readonly #places: Places
  readonly #running = new Map<string, ChildProcess>()

  private constructor(places: Places) {
    this.#places = places
    const token = this.#file('token', randomBytes(24).toString('hex'))
    const admin = readFileSync(token, 'utf8')
    this.#file('tokens.csv', `${admin},admin,admin,system:masters\n`)
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: places.directory, stdio: 'pipe' })
    const made = ['-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', 'api.key', '-out', 'api.crt']
    openssl('req', '-x509', ...made, '-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1')
    this.#file('client.json', JSON.stringify(clientConfiguration(admin, this.path('api.crt'))))
    this.api = new ClusterApi({ url: API, ca: readFileSync(this.path('api.crt'), 'utf8'), token: () => admin })
  }

  /**
   * Starts all programs, and waits until the node takes pods.
   * @throws Error with the last words of the program that did not start
   */
  static async start(places: Places): Promise<ControlPlane> {
    enclose(places)
    const plane = new ControlPlane(places)
    await plane.#startServers()
    await plane.#startNode()
    return plane
  }

  path(name: string): string {
    return join(this.#places.directory, name)
  }

  /** Adds an image to those of the node. */
  addImage(archive: string): void {
    const args = ['--address', '/run/containerd/socket', '--namespace', 'k8s.io', 'images', 'import', archive]
    execFileSync(join(this.#places.programs, 'ctr'), args, { stdio: ['ignore', 'ignore', 'inherit'] })
  }

  async #startServers(): Promise<void> {
    const peers = 'http://127.0.0.1:2380'
    this.#start('etcd', [
      ...['--data-dir', '/run/etcd', '--listen-client-urls', ETCD, '--advertise-client-urls', ETCD],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`],
    ])
    await this.#until('etcd answers', () => answers(`${ETCD}/health`))
    const key = this.path('api.key')
    this.#start('kube-apiserver', [
      ...['--etcd-servers', ETCD, '--bind-address', '127.0.0.1', '--secure-port', '6443', '--insecure-port', '0'],
      ...['--advertise-address', NODE_ADDRESS, '--endpoint-reconciler-type', 'none'],
      ...['--tls-cert-file', this.path('api.crt'), '--tls-private-key-file', key],
      ...['--token-auth-file', this.path('tokens.csv'), '--authorization-mode', 'RBAC'],
      ...['--service-account-key-file', key, '--service-account-signing-key-file', key],
      ...['--service-account-issuer', 'https://kubernetes.default.svc', '--service-cluster-ip-range', '10.96.0.0/24'],
      ...['--allow-privileged=false', '--cert-dir', this.path('certificates')],
    ])
    await this.#until('the API server is ready', async () => {
      const { kind } = await this.api.ask({ method: 'GET', path: '/api/v1/namespaces/kube-system' })
      return kind === 'Namespace'
    })
    const client = ['--kubeconfig', this.path('client.json'), '--leader-elect=false', '--port', '0']
    const certificates = ['--bind-address', '127.0.0.1', '--cert-dir', this.path('certificates')]
    this.#start('kube-scheduler', [...client, ...certificates])
    this.#start('kube-controller-manager', [
      ...[...client, ...certificates, '--cloud-provider='],
      ...['--service-account-private-key-file', key, '--root-ca-file', this.path('api.crt')],
    ])
  }

  async #startNode(): Promise<void> {
    const { programs } = this.#places
    mkdirSync(this.path('cni'))
    this.#file('cni/berth.conflist', JSON.stringify(networkConfiguration(this.#places)))
    this.#file('containerd.toml', containerdConfiguration(this.#places))
    this.#file('kubelet.json', JSON.stringify(kubeletConfiguration(this.#places)))
    this.#start('containerd', ['--config', this.path('containerd.toml')])
    await this.#until('containerd answers', async () => {
      execFileSync(join(programs, 'ctr'), ['--address', '/run/containerd/socket', 'version'], { stdio: 'pipe' })
      return true
    })
    this.#start('kubelet', [
      ...['--config', this.path('kubelet.json'), '--kubeconfig', this.path('client.json')],
      ...['--root-dir', this.path('kubelet'), '--cert-dir', this.path('certificates'), '--cloud-provider='],
      ...['--container-runtime', 'remote', '--container-runtime-endpoint', 'unix:///run/containerd/socket'],
      ...['--hostname-override', NODE, '--node-ip', NODE_ADDRESS, '--volume-plugin-dir', this.path('plugins')],
    ])
    await this.#until('the node is ready', async () => {
      const { status } = await this.api.ask({ method: 'GET', path: `/api/v1/nodes/${NODE}` })
      const { conditions = [] } = status as { conditions?: readonly { type: string; status: string }[] }
      return conditions.some(one => one.type === 'Ready' && one.status === 'True')
    })
  }

  #file(name: string, content: string): string {
    writeFileSync(this.path(name), content, { mode: 0o600 })
    return this.path(name)
  }

  #start(program: string, args: readonly string[]): void {
    const log = openSync(this.path(`${program}.log`), 'a')
    const PATH = `${this.#places.programs}:${process.env['PATH']}`
    const child = spawn(join(this.#places.programs, program), args, { env: { PATH }, stdio: ['ignore', log, log] })
    this.#running.set(program, child)
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + READY_MS
    while (!(await isSo().catch(() => false))) {
      for (const [program, { exitCode, signalCode }] of this.#running) {
        if (exitCode !== null || signalCode !== null) throw new Error(`${program} has ended:\n${this.tailOf(program)}`)
      }
      if (Date.now() > deadline) throw new Error(`never: ${what}\n${[...this.#running.keys()].map(this.tailOf)}`)
      await sleep(100)
    }
  }

  /** Returns the end of a program's log. */
  readonly tailOf = (program: string): string =>
    readFileSync(this.path(`${program}.log`), 'utf8')
      .split('\n')
      .slice(-30)
      .join('\n')
}

/** Gives the namespaces of this process what the programs expect of a machine. */
function enclose({ directory }: Places): void {
  const run = (...[program = '', ...args]: string[]) => execFileSync(program, args, { stdio: 'inherit' })
  writeFileSync('/proc/sys/kernel/ns_last_pid', String(FIRST_PROCESS))
  // The programs have fixed places below these.
  for (const place of ['/run', '/var/log']) run('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', place)
  for (const place of ['containerd', 'netns', 'lock']) mkdirSync(join('/run', place))
  // On the disk of this machine, as usual, at a path that leaves room for the names of sockets.
  for (const place of [TEMPORARY, join(directory, 'tmp')]) mkdirSync(place)
  run('mount', '--bind', join(directory, 'tmp'), TEMPORARY)
  chmodSync(TEMPORARY, 0o1777)
  const hosts = `127.0.0.1 localhost\n${NODE_ADDRESS} ${NODE} berth-hosts.berth.svc\n`
  for (const [name, content] of Object.entries({ hosts, 'resolv.conf': '' })) {
    writeFileSync(join(directory, name), content, { mode: 0o644 })
    run('mount', '--bind', join(directory, name), `/etc/${name}`)
  }
  run('hostname', NODE)
  run('ip', 'link', 'set', 'lo', 'up')
  run('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  run('ip', 'address', 'add', `${NODE_ADDRESS}/16`, 'dev', BRIDGE)
  run('ip', 'link', 'set', BRIDGE, 'up')
}

const answers = async (url: string): Promise<boolean> => (await fetch(url)).ok
