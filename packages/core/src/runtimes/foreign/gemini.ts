import type { ModelFacts } from '../catalog.ts'
import { type ForeignRuntime, gatewayOriginInside, placeholderKey } from './foreign-runtime.ts'

const settings = {
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
}

/** Sets the one model that all its configurations for chores, such as summaries, derive from. */
const onlyModel = (model: string, effort: ModelFacts['effort']) => ({
  customOverrides: [
    {
      match: { model: 'base' },
      modelConfig: {
        model,
        ...(effort !== undefined && { generateContentConfig: { thinkingConfig: thinkingOf(effort) } }),
      },
    },
  ],
})

/** Tokens that a model without levels may think. */
const budgets = { minimal: 512, low: 2048, medium: 8192, high: 24_576, max: 24_576 } as const

const thinkingOf = ({ control, level, word }: NonNullable<ModelFacts['effort']>) =>
  control === 'level' ? { thinkingLevel: word.toUpperCase() } : { thinkingBudget: budgets[level] }

/**
 * Starts Gemini CLI. Some settings have no variable, so they are written to its home. Earlier conversations are renamed
 * first. It names a conversation's file by the minute, so a process that loads one within the same minute would
 * overwrite it. Files without an answer of a model hold nothing to load and are removed.
 */
const start = `
mkdir -p ~/.gemini && printf %s "$GEMINI_SETTINGS" >~/.gemini/settings.json || exit
for file in ~/.gemini/tmp/*/chats/session-2*.jsonl; do
  if grep -qs '"type":"gemini"' "$file"; then mv "$file" "\${file%/*}/session-0-\${file##*/session-}"; else rm -f "$file"; fi
done
exec node "$0" --acp`

/** Gemini CLI. Speaks Google's generateContent. */
export const gemini: ForeignRuntime = {
  id: 'gemini',
  name: 'Gemini CLI',
  version: '0.61.0',
  install: { kind: 'npm' },
  command: directory => ['sh', '-c', start, `${directory}/node_modules/@google/gemini-cli/bundle/gemini.js`],
  env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
  // In a folder that nobody has trusted it starts no MCP server, whoever names it. In a trusted one it also obeys the
  // repository's own settings, so only sandboxes with extensions that bring servers trust theirs.
  serversEnv: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  modelEnv: ({ id, effort }) => ({
    GOOGLE_GEMINI_BASE_URL: gatewayOriginInside,
    GEMINI_API_KEY: placeholderKey,
    GEMINI_MODEL: id,
    GEMINI_SETTINGS: JSON.stringify({ ...settings, modelConfigs: onlyModel(id, effort) }),
  }),
  speaks: 'generate',
  // It streams a loaded conversation without waiting for it, so the answer overtakes most of it.
  repeatsLate: true,
  ownProvider: { key: 'GEMINI_API_KEY', env: { GEMINI_SETTINGS: JSON.stringify(settings) } },
  state: ['.gemini/tmp'],
}
