export type { Finding, Report } from '@berth/server/doctor'
