import { AppCalls, type AppOptions } from './app-calls.ts'
import type { CreateInstallationIntent, InstallationIntent } from './generated/types.ts'

/** Asks organizations to install an app, for the app's backend. Each call throws its BerthError or BerthConnectionError. */
export interface InstallationIntents {
  /** Creates an intent. Send a person of the organization to its `authorizeUrl`. Not idempotent. */
  create(request: Omit<CreateInstallationIntent, 'assertion'>): Promise<InstallationIntent>
  /** Reads an intent: `pending` until somebody decides; then `authorized`, for an hour, or `expired`. */
  get(intentId: string): Promise<InstallationIntent>
}

/** Creates the calls by which an app's backend asks for installations. */
export function createInstallationIntents(app: AppOptions): InstallationIntents {
  const calls = new AppCalls(app)
  const path = '/api/apps/installation-intents'
  return {
    create: request => calls.post(path, request, readIntent),
    get: intentId => calls.post(`${path}/${encodeURIComponent(intentId)}/status`, {}, readIntent),
  }
}

function readIntent({ intent }: Record<string, unknown>): InstallationIntent | null {
  return typeof intent === 'object' && intent !== null ? (intent as InstallationIntent) : null
}
