import type { Log } from '../kit/log.ts'
import { addObserver } from './observe.ts'

/** Where traces go; the names are those of OpenTelemetry's own variables. */
export interface TraceDestination {
  /** Address that takes spans by OTLP over HTTP. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Part of the traces that is kept, from 0 to 1. */
  readonly ratio: number
  readonly serviceName: string
}

/**
 * Sends traces to a collector until the returned handle is disposed of; spans that are left are sent then.
 * @param identity tells this process from others: its release, its id, its roles
 */
export async function openTraces(
  { url, headers, ratio, serviceName }: TraceDestination,
  identity: { readonly release: string; readonly instance: string; readonly roles: string },
  log: Log,
): Promise<AsyncDisposable> {
  // Loaded here, because a service without traces needs none of it.
  const [{ OTLPTraceExporter }, { diag, DiagLogLevel }, { Traces }] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/api'),
    import('./traces.ts'),
  ])
  const warn = (text: string) => log.warn({ component: 'traces', reason: reasonIn(text) }, 'spans could not be sent')
  diag.setLogger(
    { error: warn, warn, info: () => undefined, debug: () => undefined, verbose: () => undefined },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const traces = new Traces({
    exporter: new OTLPTraceExporter({ url, headers: { ...headers } }),
    ratio,
    resource: {
      'service.name': serviceName,
      'service.version': identity.release,
      'service.instance.id': identity.instance,
      'berth.roles': identity.roles,
    },
  })
  const observing = addObserver(traces)
  return {
    async [Symbol.asyncDispose]() {
      observing[Symbol.dispose]()
      await traces[Symbol.asyncDispose]()
      diag.disable()
    },
  }
}

/** An error comes as JSON of its members. */
function reasonIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: string }
    return message ?? text
  } catch {
    return text
  }
}
