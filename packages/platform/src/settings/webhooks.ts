import type { Config } from './config-file.ts'
import type { Environment } from './environment.ts'

/** Where webhooks may be sent. */
export interface WebhookSettings {
  /** Ports of public hosts. */
  readonly ports: readonly number[]
  /** Origins that are let through as they are. */
  readonly allow: readonly string[]
  /** Address ranges that stay closed although they are public. */
  readonly refused: readonly string[]
}

/** Reads the settings of webhooks. */
export function readWebhooks(env: Environment, { webhooks, egress }: Config): WebhookSettings {
  const parse = (text: string): number[] | undefined => {
    const ports = text.split(',').map(port => (/^ *\d{1,5} *$/.test(port) ? Number(port) : 0))
    return ports.every(port => port >= 1 && port <= 65_535) ? ports : undefined
  }
  const ports = env.parsed(
    'BERTH_WEBHOOK_PORTS',
    'Ports besides 443 to which webhooks may be sent, separated by commas. Set it if a receiver listens elsewhere.',
    'none',
    parse,
    'a list of ports',
  )
  return { ports: [443, ...(ports ?? [])], allow: webhooks.allow, refused: egress.refuse }
}
