import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const installed = dirname(fileURLToPath(import.meta.resolve('@google/gemini-cli/package.json')))

/** The command reads its settings only from its home directory. */
const start = `mkdir -p ~/.gemini && printf %s "$GEMINI_SETTINGS" >~/.gemini/settings.json &&
exec node ${installed}/bundle/gemini.js --acp --model gemini-2.5-flash`

const settings = {
  general: { enableAutoUpdate: false, maxAttempts: 1, retryFetchErrors: false },
  privacy: { usageStatisticsEnabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
}

/** Returns the entry of Gemini CLI, an agent of somebody else, with a model server that it alone reaches. */
export const geminiRuntime = (origin: string) => ({
  id: 'gemini',
  name: 'Gemini CLI',
  command: ['sh', '-c', start],
  env: {
    GEMINI_API_KEY: 'a-key-for-the-script',
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GEMINI_SETTINGS: JSON.stringify(settings),
    GOOGLE_GEMINI_BASE_URL: origin,
  },
  reach: [origin],
  mounts: [installed],
})
