/** Network levels. They only tighten: open → allowlist → none. */

export const NETWORK_LEVELS = ['open', 'allowlist', 'none'] as const;
export type NetworkLevel = (typeof NETWORK_LEVELS)[number];

/** What is known of a sandbox's network. `unknown` is asked again, never taken for safe or unsafe. */
export type NetworkFact = NetworkLevel | 'unknown';

export function isAtLeastAsTight(level: NetworkLevel, floor: NetworkLevel): boolean {
  return NETWORK_LEVELS.indexOf(level) >= NETWORK_LEVELS.indexOf(floor);
}

export function tighter(a: NetworkLevel, b: NetworkLevel): NetworkLevel {
  return isAtLeastAsTight(a, b) ? a : b;
}

/** Only a known, weaker level breaks the rule. */
export function violates(fact: NetworkFact, required: NetworkLevel): boolean {
  return fact !== 'unknown' && !isAtLeastAsTight(fact, required);
}
