/** Checks what a call passes, by the rules of profile files but without loading their schema. */
import type { SandboxOptions } from '../core/api.ts';
import { impossibleBounds, targetsTwice, unreachableIdle } from './cross-field.ts';
import { didYouMean } from '../core/nearest.ts';
import { invalidConfig, isRecord, joinPath, type Problem } from './problems.ts';
import {
  contextId,
  image,
  LIMIT_RULES,
  MOUNT_RULES,
  needs,
  network,
  POLICY_RULES,
  sandboxNames,
  variableName,
  variableValue,
  type Rule,
} from './rules.ts';

/** CONFIG_INVALID with every problem and its path. */
export function checkOptions(options: SandboxOptions): void {
  const problems: Problem[] = [];
  check('sandbox', options.sandbox, sandboxNames, problems);
  check('image', options.image, image, problems);
  check('network', options.network, network, problems);
  check('contextId', options.contextId, contextId, problems);
  check('needs', options.needs, needs, problems);
  checkEnv(options.env, problems);
  checkFields('limits', options.limits, LIMIT_RULES, problems);
  checkMounts(options.mounts, problems);
  checkFields('policy', options.policy, POLICY_RULES, problems);
  if (isRecord(options.policy))
    problems.push(...unreachableIdle(options.policy, 'policy.'), ...impossibleBounds(options.policy, 'policy.'));
  if (problems.length > 0) throw invalidConfig('The call', problems);
}

function check(path: string, value: unknown, rule: Rule, problems: Problem[]): void {
  if (value === undefined) return;
  const message = rule(value);
  if (message !== undefined) problems.push({ path, message });
}

function checkEnv(env: unknown, problems: Problem[]): void {
  if (env === undefined) return;
  if (!isRecord(env)) {
    problems.push({ path: 'env', message: 'must be an object of strings' });
    return;
  }
  for (const [name, value] of Object.entries(env)) {
    check(joinPath('env', name), name, variableName, problems);
    const message = variableValue(value);
    if (message !== undefined) problems.push({ path: joinPath('env', name), message });
  }
}

function checkMounts(mounts: unknown, problems: Problem[]): void {
  if (mounts === undefined) return;
  if (!Array.isArray(mounts)) {
    problems.push({ path: 'mounts', message: 'must be a list' });
    return;
  }
  for (const [index, mount] of (mounts as readonly unknown[]).entries()) {
    checkFields(joinPath('mounts', index), mount, MOUNT_RULES, problems, ['source', 'target']);
  }
  problems.push(...targetsTwice(mounts));
}

/** Each field by its rule; others are unknown. */
export function checkFields(
  path: string,
  value: unknown,
  rules: Readonly<Record<string, Rule>>,
  problems: Problem[],
  required: readonly string[] = [],
): void {
  if (value === undefined) return;
  if (!isRecord(value)) {
    problems.push({ path, message: 'must be an object' });
    return;
  }
  for (const key of new Set([...required, ...Object.keys(value)])) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined)
      problems.push({ path: joinPath(path, key), message: `unknown key${didYouMean(key, Object.keys(rules))}` });
    else if (value[key] !== undefined || required.includes(key)) {
      const message = rule(value[key]);
      if (message !== undefined) problems.push({ path: joinPath(path, key), message });
    }
  }
}
