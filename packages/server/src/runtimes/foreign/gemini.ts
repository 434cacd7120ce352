import { type ForeignRuntime, gatewayOriginInside, placeholderKey } from './foreign-runtime.ts'

const settings = {
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
}

/** Its configurations of models for chores, such as summaries, all stand on one of this name. */
const onlyModel = (model: string) => ({ customOverrides: [{ match: { model: 'base' }, modelConfig: { model } }] })

/**
 * Some settings have no variable and are read from its home only. What was said is put aside under another name: a file of
 * a conversation is named by the minute, and a process that loads one in the minute it began in writes over it first. A
 * file in which no model has answered is nothing to load.
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
  modelEnv: ({ id }) => ({
    GOOGLE_GEMINI_BASE_URL: gatewayOriginInside,
    GEMINI_API_KEY: placeholderKey,
    GEMINI_MODEL: id,
    GEMINI_SETTINGS: JSON.stringify({ ...settings, modelConfigs: onlyModel(id) }),
  }),
  speaks: 'generate',
  ownProvider: { key: 'GEMINI_API_KEY', env: { GEMINI_SETTINGS: JSON.stringify(settings) } },
  state: ['.gemini/tmp'],
}
