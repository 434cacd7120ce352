const labels: Readonly<Record<string, string>> = {
  answered: 'answers, and takes the key.',
  unlisted: 'answers, but lists no models: name those that it serves in the configuration.',
  upstream_credential_refused: 'refuses the key: look whether it is the right one, and not used up.',
  upstream_request_refused: 'refuses the request: look at its base URL and kind.',
  model_not_found: 'does not serve the model that the configuration names.',
  upstream_rate_limited: 'takes no more requests just now: its rate or its quota is reached.',
  upstream_overloaded: 'is overloaded. Check again in a moment.',
  upstream_timeout: 'did not answer in ten seconds.',
  upstream_unreachable: 'cannot be reached from the service: look at its base URL, and at the way there.',
  upstream_cut: 'broke off its answer.',
  upstream_invalid_response: 'answers, but not as a provider of models: look at its base URL.',
}

/** Returns how a provider answered, as the rest of a sentence about it. */
export const outcomeLabel = (outcome: string): string => labels[outcome] ?? 'failed. Check again in a moment.'
