import type { ForeignRuntime } from './foreign-runtime.ts'

const settings = JSON.stringify({
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
})

/**
 * Gemini CLI. It speaks its provider's own format, so an operator gives it a key for that. Some of its settings have no
 * variable and are read from its home only.
 */
export const gemini: ForeignRuntime = {
  id: 'gemini',
  name: 'Gemini CLI',
  version: '0.61.0',
  install: { kind: 'npm' },
  command: directory => [
    'sh',
    '-c',
    `mkdir -p ~/.gemini && printf %s "$GEMINI_SETTINGS" >~/.gemini/settings.json && exec node "$0" --acp`,
    `${directory}/node_modules/@google/gemini-cli/bundle/gemini.js`,
  ],
  env: { GEMINI_CLI_NO_RELAUNCH: 'true', GEMINI_SETTINGS: settings },
  needs: ['GEMINI_API_KEY'],
  state: ['.gemini/tmp'],
}
