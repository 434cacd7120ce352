import type { Environment } from './environment.ts'

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Logs and metrics for operators. */
export interface LoggingSettings {
  readonly level: (typeof levels)[number]
  /** Absent: the process serves no metrics. With 0 the system chooses a port. */
  readonly metricsPort: number | undefined
}

export function readLogging(env: Environment): LoggingSettings {
  return {
    level: env.oneOf('BERTH_LOG_LEVEL', 'info', 'Lowest severity that is logged.', levels),
    metricsPort: env.parsed(
      'BERTH_METRICS_PORT',
      'Loopback port that serves `GET /metrics`; 0 takes a free one.',
      'no metrics',
      text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
      'a port from 0 to 65535',
    ),
  }
}
