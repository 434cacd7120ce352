import type { Config } from './config-file.ts'
import type { Environment } from './environment.ts'

/** Public hosts that sandboxes may reach. */
export interface Egress {
  readonly ports: readonly number[]
  /** Undefined: every public host. */
  readonly only: readonly string[] | undefined
  readonly refused: readonly string[]
}

/** Reads the public hosts that sandboxes reach besides those of their runtime; returns undefined if there are none. */
export function readEgress(env: Environment, { egress }: Config): Egress | undefined {
  const parse = (text: string): number[] | undefined => {
    const ports = text.split(',').map(port => (/^ *\d{1,5} *$/.test(port) ? Number(port) : 0))
    return ports.every(port => port >= 1 && port <= 65_535) ? ports : undefined
  }
  const open = env.oneOf(
    'BERTH_EGRESS',
    'public',
    'What sandboxes reach besides the `reach` of their runtime: `public` hosts or `none`. Set it to `none` if agents may not reach the internet.',
    ['public', 'none'],
  )
  const ports = env.parsed(
    'BERTH_EGRESS_PORTS',
    'Ports of public hosts that sandboxes reach, separated by commas. Change it if agents need other services, such as SSH.',
    '`80,443`',
    parse,
    'a list of ports',
  )
  return open === 'none' ? undefined : { ports: ports ?? [80, 443], only: egress.hosts, refused: egress.refuse }
}
