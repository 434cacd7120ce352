import type { Effort } from '@berth/contract'
import type { ProviderConfig } from '@berth/platform/settings/model-config.ts'

/** How a provider's own format asks a model to think: by a word, or by a number of tokens. */
export type ReasoningControl = 'effort' | 'adaptive' | 'level' | 'budget'

/** How a model is asked to think. */
export interface Reasoning {
  readonly control: ReasoningControl
  /** The provider's words. The least that it knows stands for `minimal`, the most for `max`. */
  readonly efforts: Readonly<Record<Effort, string>>
}

/** A model by its provider's own name. */
interface Named {
  readonly kind: ProviderConfig['kind']
  readonly model: string
}

/** Claude thinks by budgets up to 4.5. */
const claudeOfBudgets = /claude-(?:3|(?:opus|sonnet|haiku)-4(?!-[6-9](?:\D|$)))/
const geminiOfLevels = /gemini-(?:[3-9]|\d\d)(?!.*-pro-image)|gemini-flash(?:-lite)?-latest/
const geminiOfMinimal = /gemini-3(?:\.[1-6])?-flash|gemini-flash(?:-lite)?-latest/

/** Returns how a model that reasons is asked to; by its name, as no provider's list of models tells it. */
export function reasoningOf({ kind, model }: Named): Reasoning {
  const name = model.toLowerCase()
  const efforts = (least: string, most: string) => ({
    minimal: least,
    low: 'low',
    medium: 'medium',
    high: 'high',
    max: most,
  })
  if (kind === 'anthropic') {
    const isAdaptive = name.includes('claude-') && !claudeOfBudgets.test(name)
    return { control: isAdaptive ? 'adaptive' : 'budget', efforts: efforts('low', 'max') }
  }
  if (kind === 'google') {
    const least = geminiOfMinimal.test(name) ? 'minimal' : 'low'
    return { control: geminiOfLevels.test(name) ? 'level' : 'budget', efforts: efforts(least, 'high') }
  }
  if (kind === 'openai-compatible') return { control: 'effort', efforts: efforts('low', 'high') }
  const least = /^gpt-5(?:-mini|-nano)?(?:-\d{4}|$)/.test(name) ? 'minimal' : 'low'
  return { control: 'effort', efforts: efforts(least, mostOfOpenai(name)) }
}

function mostOfOpenai(name: string): string {
  if (/^gpt-(?:5\.[6-9]|[6-9])/.test(name)) return 'max'
  return /^gpt-5\.[2-5]/.test(name) ? 'xhigh' : 'high'
}
