/** The part of a logger that the driver needs; pino's loggers fit. */
export interface DriverLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
