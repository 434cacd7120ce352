import { type LogFormat, logFormats } from '../logging/log-lines.ts'
import type { Environment } from './environment.ts'

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Logs and metrics for operators. */
export interface LoggingSettings {
  readonly level: (typeof levels)[number]
  readonly format: LogFormat
  /** Absent: the process serves no metrics. With 0 the system chooses a port. */
  readonly metricsPort: number | undefined
}

export function readLogging(env: Environment): LoggingSettings {
  return {
    level: env.oneOf(
      'BERTH_LOG_LEVEL',
      'info',
      'Lowest severity that is logged. Change it to `debug` to look into a fault.',
      levels,
    ),
    format: env.oneOf(
      'BERTH_LOG_FORMAT',
      'auto',
      'How lines of the log are written: as `json`, as `text` for people, or `auto`, which is text on a terminal and JSON elsewhere. Set it to `text` if people read the log of a container.',
      logFormats,
    ),
    metricsPort: env.parsed(
      'BERTH_METRICS_PORT',
      'Loopback port that serves `GET /metrics`; 0 takes a free one. Set it to be warned by Prometheus.',
      'no metrics',
      text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
      'a port from 0 to 65535',
    ),
  }
}
